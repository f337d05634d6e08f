-- A ledger of format 2 on PostgreSQL, with every kind of entry (in the style of pg_dump --inserts).
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
    spec_hash character varying(200),
    body text NOT NULL,
    hash character varying(64) NOT NULL
);
CREATE TABLE public.discreet_format (
    version integer NOT NULL
);
CREATE TABLE public.discreet_lock (
);
INSERT INTO public.discreet_entries VALUES (1, 'begin', NULL, NULL, NULL, NULL, NULL, '{"at":"2026-01-15T12:00:00.000001Z","format":2,"kind":"begin","ledger_id":"f27dc618bthnr2yan25wwpkx7k","previous":"0000000000000000000000000000000000000000000000000000000000000000","seq":1}', 'c57102122178dd9e78e00e6b94de73df73ee4cd1a8e7f6ee3caff5cd5f5c0d16');
INSERT INTO public.discreet_entries VALUES (2, 'open', 'clinic', NULL, NULL, NULL, NULL, '{"account":"clinic","approver":"A. Curator","at":"2026-01-15T12:00:00.000002Z","kind":"open","previous":"c57102122178dd9e78e00e6b94de73df73ee4cd1a8e7f6ee3caff5cd5f5c0d16","reason":"review","seq":2,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":null,"period_spent":{"epsilon":"0"},"spent":{"epsilon":"0"}},"terms":{"adjacency":"add-remove","filter":"pure","period":"month","unit":"person"}}', 'b1f84d9663efef5a93b80ec9800064a361330f3c5e7e0c81ce0abf636b994686');
INSERT INTO public.discreet_entries VALUES (3, 'reserve', 'clinic', 'y441sbfw8x6yrkpyjh6tf22ztw', NULL, NULL, '5555555555555555555555555555555555555555555555555555555555555555', '{"account":"clinic","at":"2026-01-15T12:00:00.000004Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.1,"kind":"pure","rho":null}],"cost":{"epsilon":"0.1"},"kind":"reserve","previous":"b1f84d9663efef5a93b80ec9800064a361330f3c5e7e0c81ce0abf636b994686","purpose":"a täble","release_id":"y441sbfw8x6yrkpyjh6tf22ztw","seq":3,"spec_hash":"5555555555555555555555555555555555555555555555555555555555555555","standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.1"},"spent":{"epsilon":"0.1"}},"who":"ci"}', '29706dce1e7b878c8fb89ccc5c0cdd7809a8cf2a338a6fa86b46f474410b8369');
INSERT INTO public.discreet_entries VALUES (4, 'commit', 'clinic', 'y441sbfw8x6yrkpyjh6tf22ztw', NULL, NULL, NULL, '{"account":"clinic","at":"2026-01-15T12:00:00.000005Z","kind":"commit","output_hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","previous":"29706dce1e7b878c8fb89ccc5c0cdd7809a8cf2a338a6fa86b46f474410b8369","release_id":"y441sbfw8x6yrkpyjh6tf22ztw","seq":4,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.1"},"spent":{"epsilon":"0.1"}}}', '51526bebdb04fe64965706ebdd071918ce859154d8541b2a20f6c11f5ae99efd');
INSERT INTO public.discreet_entries VALUES (5, 'charge', 'clinic', 'elsewhere', NULL, NULL, NULL, '{"account":"clinic","at":"2026-01-15T12:00:00.000007Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.2,"kind":"pure","rho":null}],"cost":{"epsilon":"0.2"},"kind":"charge","previous":"51526bebdb04fe64965706ebdd071918ce859154d8541b2a20f6c11f5ae99efd","purpose":"a täble","release_id":"elsewhere","seq":5,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.3"},"spent":{"epsilon":"0.3"}},"who":"ci"}', '67e8f4a86035fdebc17b2d8ee2de9ff7dd0e88313bb81f064a0577f77fb82b37');
INSERT INTO public.discreet_entries VALUES (6, 'grant', 'clinic', NULL, NULL, NULL, NULL, '{"account":"clinic","add":{"epsilon":"0.5"},"approver":"B","at":"2026-01-15T12:00:00.000009Z","kind":"grant","previous":"67e8f4a86035fdebc17b2d8ee2de9ff7dd0e88313bb81f064a0577f77fb82b37","reason":"more","seq":6,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.3"},"spent":{"epsilon":"0.3"}},"which":"lifetime"}', '7195b16a9b88e5b1944480d7debc9c8c1c83575e983c0ad1833f3fc928da9b8f');
INSERT INTO public.discreet_entries VALUES (7, 'plan', 'clinic', NULL, 'fd8ce2ehgc1znysdjn6tw792n4', NULL, NULL, '{"account":"clinic","at":"2026-01-15T12:00:00.000011Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.2,"kind":"pure","rho":null}],"cost":{"epsilon":"0.2"},"kind":"plan","method":"basic","parts":[{"adjacency":"add-remove","delta":null,"epsilon":0.1,"kind":"pure","rho":null,"times":2}],"plan_id":"fd8ce2ehgc1znysdjn6tw792n4","previous":"7195b16a9b88e5b1944480d7debc9c8c1c83575e983c0ad1833f3fc928da9b8f","purpose":"a täble","seq":7,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"ci"}', '981a8bd4f2841ccab302f36a164878754b24bcd2a67d65aa97241d4ac94b6d6c');
INSERT INTO public.discreet_entries VALUES (8, 'slot', 'clinic', 'wz4tjfbrq13y2rn88ax53estyv', 'fd8ce2ehgc1znysdjn6tw792n4', 1, '6666666666666666666666666666666666666666666666666666666666666666', '{"account":"clinic","at":"2026-01-15T12:00:00.000012Z","idempotency_key":"first","kind":"slot","plan_id":"fd8ce2ehgc1znysdjn6tw792n4","previous":"981a8bd4f2841ccab302f36a164878754b24bcd2a67d65aa97241d4ac94b6d6c","purpose":"registered plan","release_id":"wz4tjfbrq13y2rn88ax53estyv","seq":8,"slot":1,"spec_hash":"6666666666666666666666666666666666666666666666666666666666666666","standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"plan"}', '6315b52c42e839993c2259076d9a7b955aff07fef721acfa6cbc7f4fc4d92211');
INSERT INTO public.discreet_entries VALUES (9, 'commit', 'clinic', 'wz4tjfbrq13y2rn88ax53estyv', 'fd8ce2ehgc1znysdjn6tw792n4', 1, NULL, '{"account":"clinic","at":"2026-01-15T12:00:00.000013Z","kind":"commit","output_hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","plan_id":"fd8ce2ehgc1znysdjn6tw792n4","previous":"6315b52c42e839993c2259076d9a7b955aff07fef721acfa6cbc7f4fc4d92211","release_id":"wz4tjfbrq13y2rn88ax53estyv","seq":9,"slot":1,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}}}', '153085472f630edd5a4f5ec552ae1ed61c5ff10aab86b69e3c3ca0598cfddf29');
INSERT INTO public.discreet_entries VALUES (10, 'slot', 'clinic', 'vt48dp58hvaa422bjr5ekx9ssf', 'fd8ce2ehgc1znysdjn6tw792n4', 2, NULL, '{"account":"clinic","at":"2026-01-15T12:00:00.000014Z","kind":"slot","plan_id":"fd8ce2ehgc1znysdjn6tw792n4","previous":"153085472f630edd5a4f5ec552ae1ed61c5ff10aab86b69e3c3ca0598cfddf29","purpose":"registered plan","release_id":"vt48dp58hvaa422bjr5ekx9ssf","seq":10,"slot":2,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"plan"}', '73ad71260080011a63a9a6d4ead5bc06e7d521a26049683a29f55af603e1c3ee');
INSERT INTO public.discreet_format VALUES (2);
ALTER TABLE ONLY public.discreet_entries
    ADD CONSTRAINT discreet_entries_hash_key UNIQUE (hash);
ALTER TABLE ONLY public.discreet_entries
    ADD CONSTRAINT discreet_entries_once UNIQUE (release_id, kind);
ALTER TABLE ONLY public.discreet_entries
    ADD CONSTRAINT discreet_entries_pkey PRIMARY KEY (seq);
CREATE INDEX discreet_entries_account ON public.discreet_entries USING btree (account, seq);
CREATE INDEX discreet_entries_kind ON public.discreet_entries USING btree (account, kind, seq);
CREATE INDEX discreet_entries_plan ON public.discreet_entries USING btree (plan_id, seq);
CREATE INDEX discreet_entries_spec ON public.discreet_entries USING btree (account, spec_hash);
CREATE TRIGGER discreet_entries_append BEFORE INSERT ON public.discreet_entries FOR EACH ROW EXECUTE FUNCTION public.discreet_entries_append();
ALTER TABLE public.discreet_entries ENABLE ALWAYS TRIGGER discreet_entries_append;
CREATE TRIGGER discreet_entries_no_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.discreet_entries FOR EACH STATEMENT EXECUTE FUNCTION public.discreet_entries_no_change();
ALTER TABLE public.discreet_entries ENABLE ALWAYS TRIGGER discreet_entries_no_change;
REVOKE ALL ON TABLE public.discreet_entries FROM discreet;
GRANT SELECT,INSERT,REFERENCES,TRIGGER ON TABLE public.discreet_entries TO discreet;
