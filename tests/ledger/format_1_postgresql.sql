-- A ledger of format 1 on PostgreSQL, with every kind of entry (pg_dump --inserts).
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.discreet_entries_append() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
BEGIN
  IF NEW.seq IS DISTINCT FROM (SELECT coalesce(max(seq), 0) + 1 FROM discreet_entries) THEN
    RAISE EXCEPTION 'entries of a ledger are only added at its end';
  END IF;
  RETURN NEW;
END
$$;
CREATE FUNCTION public.discreet_entries_no_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
BEGIN
  RAISE EXCEPTION 'entries of a ledger are never changed';
END
$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.discreet_entries (
    seq integer NOT NULL,
    kind character varying(16) NOT NULL,
    account character varying(100),
    release_id character varying(64),
    plan_id character varying(64),
    slot integer,
    body text NOT NULL,
    hash character varying(64) NOT NULL
);
CREATE TABLE public.discreet_format (
    version integer NOT NULL
);
CREATE TABLE public.discreet_lock (
);
INSERT INTO public.discreet_entries VALUES (1, 'begin', NULL, NULL, NULL, NULL, '{"at":"2026-01-15T12:00:00.000001Z","format":1,"kind":"begin","ledger_id":"rdh98c7dv630babnvjq6g14qz5","previous":"0000000000000000000000000000000000000000000000000000000000000000","seq":1}', '18443f077dd14fe5e29144eabd14de2ff5a34f10874ad43766629d3c813f1d25');
INSERT INTO public.discreet_entries VALUES (2, 'open', 'clinic', NULL, NULL, NULL, '{"account":"clinic","approver":"A. Curator","at":"2026-01-15T12:00:00.000002Z","kind":"open","previous":"18443f077dd14fe5e29144eabd14de2ff5a34f10874ad43766629d3c813f1d25","reason":"review","seq":2,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":null,"period_spent":{"epsilon":"0"},"spent":{"epsilon":"0"}},"terms":{"adjacency":"add-remove","filter":"pure","period":"month","unit":"person"}}', '2f63d8b08d4f9a2c3f460e42d7970d540e9c93c21c3f0cbc5ba7b8c98dcb2fa3');
INSERT INTO public.discreet_entries VALUES (3, 'reserve', 'clinic', 'z2f99vjq6kgstfvem2t52mxadb', NULL, NULL, '{"account":"clinic","at":"2026-01-15T12:00:00.000004Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.1,"kind":"pure","rho":null}],"cost":{"epsilon":"0.1"},"kind":"reserve","previous":"2f63d8b08d4f9a2c3f460e42d7970d540e9c93c21c3f0cbc5ba7b8c98dcb2fa3","purpose":"a täble","release_id":"z2f99vjq6kgstfvem2t52mxadb","seq":3,"spec_hash":"5555555555555555555555555555555555555555555555555555555555555555","standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.1"},"spent":{"epsilon":"0.1"}},"who":"ci"}', '1276c5f03f7f274a7125f009734e56966824d9d590600a1e6708f64e93abeaa0');
INSERT INTO public.discreet_entries VALUES (4, 'commit', 'clinic', 'z2f99vjq6kgstfvem2t52mxadb', NULL, NULL, '{"account":"clinic","at":"2026-01-15T12:00:00.000005Z","kind":"commit","output_hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","previous":"1276c5f03f7f274a7125f009734e56966824d9d590600a1e6708f64e93abeaa0","release_id":"z2f99vjq6kgstfvem2t52mxadb","seq":4,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.1"},"spent":{"epsilon":"0.1"}}}', '75d70cdf3c37de2683402e8ec2e03f537a0c8cce7f6afa4b38489d1e9778711e');
INSERT INTO public.discreet_entries VALUES (5, 'charge', 'clinic', 'elsewhere', NULL, NULL, '{"account":"clinic","at":"2026-01-15T12:00:00.000007Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.2,"kind":"pure","rho":null}],"cost":{"epsilon":"0.2"},"kind":"charge","previous":"75d70cdf3c37de2683402e8ec2e03f537a0c8cce7f6afa4b38489d1e9778711e","purpose":"a täble","release_id":"elsewhere","seq":5,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.3"},"spent":{"epsilon":"0.3"}},"who":"ci"}', '106f9676fbf4019a0cfba984c4a65401b0bdeb529109e5adebd395cca1540bbb');
INSERT INTO public.discreet_entries VALUES (6, 'grant', 'clinic', NULL, NULL, NULL, '{"account":"clinic","add":{"epsilon":"0.5"},"approver":"B","at":"2026-01-15T12:00:00.000009Z","kind":"grant","previous":"106f9676fbf4019a0cfba984c4a65401b0bdeb529109e5adebd395cca1540bbb","reason":"more","seq":6,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.3"},"spent":{"epsilon":"0.3"}},"which":"lifetime"}', '4913a3ea197673cd4d9a3f07c8ea4d45bd4ca96c784629349a7867a687c25983');
INSERT INTO public.discreet_entries VALUES (7, 'plan', 'clinic', NULL, 'd2dp244v5sdkha70wz3ykmy8pq', NULL, '{"account":"clinic","at":"2026-01-15T12:00:00.000011Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.2,"kind":"pure","rho":null}],"cost":{"epsilon":"0.2"},"kind":"plan","method":"basic","parts":[{"adjacency":"add-remove","delta":null,"epsilon":0.1,"kind":"pure","rho":null,"times":2}],"plan_id":"d2dp244v5sdkha70wz3ykmy8pq","previous":"4913a3ea197673cd4d9a3f07c8ea4d45bd4ca96c784629349a7867a687c25983","purpose":"a täble","seq":7,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"ci"}', '0b4b3f96a71bcfe542741448057b3b3fc918a196ba36e14f326f82d21c9bf255');
INSERT INTO public.discreet_entries VALUES (8, 'slot', 'clinic', '9m48tg6ba665hvs9g7atzydag7', 'd2dp244v5sdkha70wz3ykmy8pq', 1, '{"account":"clinic","at":"2026-01-15T12:00:00.000012Z","idempotency_key":"first","kind":"slot","plan_id":"d2dp244v5sdkha70wz3ykmy8pq","previous":"0b4b3f96a71bcfe542741448057b3b3fc918a196ba36e14f326f82d21c9bf255","purpose":"registered plan","release_id":"9m48tg6ba665hvs9g7atzydag7","seq":8,"slot":1,"spec_hash":"6666666666666666666666666666666666666666666666666666666666666666","standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"plan"}', 'b8ab54dd176484257711f2d9f6685f8dc617fc48c25f215b1fca269bcb32dd8b');
INSERT INTO public.discreet_entries VALUES (9, 'commit', 'clinic', '9m48tg6ba665hvs9g7atzydag7', 'd2dp244v5sdkha70wz3ykmy8pq', 1, '{"account":"clinic","at":"2026-01-15T12:00:00.000013Z","kind":"commit","output_hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","plan_id":"d2dp244v5sdkha70wz3ykmy8pq","previous":"b8ab54dd176484257711f2d9f6685f8dc617fc48c25f215b1fca269bcb32dd8b","release_id":"9m48tg6ba665hvs9g7atzydag7","seq":9,"slot":1,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}}}', '8395187a01f91678a91aec905f198762fee3b7f0ae60d6b6c181586bd238dc2f');
INSERT INTO public.discreet_entries VALUES (10, 'slot', 'clinic', 'jvact004rdbezzq2705ewvxa8q', 'd2dp244v5sdkha70wz3ykmy8pq', 2, '{"account":"clinic","at":"2026-01-15T12:00:00.000014Z","kind":"slot","plan_id":"d2dp244v5sdkha70wz3ykmy8pq","previous":"8395187a01f91678a91aec905f198762fee3b7f0ae60d6b6c181586bd238dc2f","purpose":"registered plan","release_id":"jvact004rdbezzq2705ewvxa8q","seq":10,"slot":2,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"plan"}', 'cdae10533ac7fbcb29842e0313ff084b0cb9f4f72c9aee4efafe4d1f29eb6dee');
INSERT INTO public.discreet_format VALUES (1);
ALTER TABLE ONLY public.discreet_entries
    ADD CONSTRAINT discreet_entries_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.discreet_entries
    ADD CONSTRAINT discreet_entries_once UNIQUE (release_id, kind);
ALTER TABLE ONLY public.discreet_entries
    ADD CONSTRAINT discreet_entries_pkey PRIMARY KEY (seq);
CREATE INDEX discreet_entries_account ON public.discreet_entries USING btree (account, seq);
CREATE INDEX discreet_entries_kind ON public.discreet_entries USING btree (account, kind, seq);
CREATE INDEX discreet_entries_plan ON public.discreet_entries USING btree (plan_id, seq);
CREATE TRIGGER discreet_entries_append BEFORE INSERT ON public.discreet_entries FOR EACH ROW EXECUTE FUNCTION public.discreet_entries_append();
ALTER TABLE public.discreet_entries ENABLE ALWAYS TRIGGER discreet_entries_append;
CREATE TRIGGER discreet_entries_no_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.discreet_entries FOR EACH STATEMENT EXECUTE FUNCTION public.discreet_entries_no_change();
ALTER TABLE public.discreet_entries ENABLE ALWAYS TRIGGER discreet_entries_no_change;
REVOKE ALL ON TABLE public.discreet_entries FROM discreet;
GRANT SELECT,INSERT,REFERENCES,TRIGGER ON TABLE public.discreet_entries TO discreet;
