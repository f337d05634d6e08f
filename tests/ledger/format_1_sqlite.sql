-- A ledger of format 1 in SQLite, with every kind of entry.
BEGIN TRANSACTION;
CREATE TABLE discreet_entries (
	seq INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	account VARCHAR(100), 
	release_id VARCHAR(64), 
	plan_id VARCHAR(64), 
	slot INTEGER, 
	body TEXT NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (seq), 
	CONSTRAINT discreet_entries_once UNIQUE (release_id, kind), 
	UNIQUE (hash)
);
INSERT INTO "discreet_entries" VALUES(1,'begin',NULL,NULL,NULL,NULL,'{"at":"2026-01-15T12:00:00.000001Z","format":1,"kind":"begin","ledger_id":"m89wpk8x4a3kdrh15rks0swbwn","previous":"0000000000000000000000000000000000000000000000000000000000000000","seq":1}','5965d7a02d1ae32039a80edf6fa28aea8940ae8b38f7ab476a751bc7e7d39c0b');
INSERT INTO "discreet_entries" VALUES(2,'open','clinic',NULL,NULL,NULL,'{"account":"clinic","approver":"A. Curator","at":"2026-01-15T12:00:00.000002Z","kind":"open","previous":"5965d7a02d1ae32039a80edf6fa28aea8940ae8b38f7ab476a751bc7e7d39c0b","reason":"review","seq":2,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":null,"period_spent":{"epsilon":"0"},"spent":{"epsilon":"0"}},"terms":{"adjacency":"add-remove","filter":"pure","period":"month","unit":"person"}}','650904def26aad9b97293758046ba4600b41e85714b635084622a4c781a86877');
INSERT INTO "discreet_entries" VALUES(3,'reserve','clinic','b6yfawy48cqz61cbe895tp08wf',NULL,NULL,'{"account":"clinic","at":"2026-01-15T12:00:00.000004Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.1,"kind":"pure","rho":null}],"cost":{"epsilon":"0.1"},"kind":"reserve","previous":"650904def26aad9b97293758046ba4600b41e85714b635084622a4c781a86877","purpose":"a täble","release_id":"b6yfawy48cqz61cbe895tp08wf","seq":3,"spec_hash":"5555555555555555555555555555555555555555555555555555555555555555","standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.1"},"spent":{"epsilon":"0.1"}},"who":"ci"}','3fe4b39ff4519f8427af8bbe551d7b107dac3111e6e9b6b96fc965be17daf996');
INSERT INTO "discreet_entries" VALUES(4,'commit','clinic','b6yfawy48cqz61cbe895tp08wf',NULL,NULL,'{"account":"clinic","at":"2026-01-15T12:00:00.000005Z","kind":"commit","output_hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","previous":"3fe4b39ff4519f8427af8bbe551d7b107dac3111e6e9b6b96fc965be17daf996","release_id":"b6yfawy48cqz61cbe895tp08wf","seq":4,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.1"},"spent":{"epsilon":"0.1"}}}','45d55acf36204f579e5d343371e3f70277b3dfda037c6ec14d1eeb00e9e6c054');
INSERT INTO "discreet_entries" VALUES(5,'charge','clinic','elsewhere',NULL,NULL,'{"account":"clinic","at":"2026-01-15T12:00:00.000007Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.2,"kind":"pure","rho":null}],"cost":{"epsilon":"0.2"},"kind":"charge","previous":"45d55acf36204f579e5d343371e3f70277b3dfda037c6ec14d1eeb00e9e6c054","purpose":"a täble","release_id":"elsewhere","seq":5,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.3"},"spent":{"epsilon":"0.3"}},"who":"ci"}','300cd4e95f5c53432022230d5c60742e233747e30d4d533f61f835513e184954');
INSERT INTO "discreet_entries" VALUES(6,'grant','clinic',NULL,NULL,NULL,'{"account":"clinic","add":{"epsilon":"0.5"},"approver":"B","at":"2026-01-15T12:00:00.000009Z","kind":"grant","previous":"300cd4e95f5c53432022230d5c60742e233747e30d4d533f61f835513e184954","reason":"more","seq":6,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.3"},"spent":{"epsilon":"0.3"}},"which":"lifetime"}','1e7e62486dc7718b08a7de0a8cfefe9f896c6dab5df8632db6df005198da1f0e');
INSERT INTO "discreet_entries" VALUES(7,'plan','clinic',NULL,'hfffjftg1nec9kcmb9xm43d0va',NULL,'{"account":"clinic","at":"2026-01-15T12:00:00.000011Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.2,"kind":"pure","rho":null}],"cost":{"epsilon":"0.2"},"kind":"plan","method":"basic","parts":[{"adjacency":"add-remove","delta":null,"epsilon":0.1,"kind":"pure","rho":null,"times":2}],"plan_id":"hfffjftg1nec9kcmb9xm43d0va","previous":"1e7e62486dc7718b08a7de0a8cfefe9f896c6dab5df8632db6df005198da1f0e","purpose":"a täble","seq":7,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"ci"}','5f2e17d81a304608225b6fbf792097ac0505a0d54fa9c28b6691f212f1550570');
INSERT INTO "discreet_entries" VALUES(8,'slot','clinic','m6h7hpqkrpf5k6jh7841m40scx','hfffjftg1nec9kcmb9xm43d0va',1,'{"account":"clinic","at":"2026-01-15T12:00:00.000012Z","idempotency_key":"first","kind":"slot","plan_id":"hfffjftg1nec9kcmb9xm43d0va","previous":"5f2e17d81a304608225b6fbf792097ac0505a0d54fa9c28b6691f212f1550570","purpose":"registered plan","release_id":"m6h7hpqkrpf5k6jh7841m40scx","seq":8,"slot":1,"spec_hash":"6666666666666666666666666666666666666666666666666666666666666666","standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"plan"}','2f3965f4511f9063607d025ec2cec32a6d7fc6c02272461cfc13af431bee407c');
INSERT INTO "discreet_entries" VALUES(9,'commit','clinic','m6h7hpqkrpf5k6jh7841m40scx','hfffjftg1nec9kcmb9xm43d0va',1,'{"account":"clinic","at":"2026-01-15T12:00:00.000013Z","kind":"commit","output_hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","plan_id":"hfffjftg1nec9kcmb9xm43d0va","previous":"2f3965f4511f9063607d025ec2cec32a6d7fc6c02272461cfc13af431bee407c","release_id":"m6h7hpqkrpf5k6jh7841m40scx","seq":9,"slot":1,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}}}','fd952e8df6b6e13be7e8781ae1b3f7f564455ae81d7b1dd79dab14843634bb48');
INSERT INTO "discreet_entries" VALUES(10,'slot','clinic','2wqw6td279hzw2n6ynm1w5598e','hfffjftg1nec9kcmb9xm43d0va',2,'{"account":"clinic","at":"2026-01-15T12:00:00.000014Z","kind":"slot","plan_id":"hfffjftg1nec9kcmb9xm43d0va","previous":"fd952e8df6b6e13be7e8781ae1b3f7f564455ae81d7b1dd79dab14843634bb48","purpose":"registered plan","release_id":"2wqw6td279hzw2n6ynm1w5598e","seq":10,"slot":2,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"plan"}','21bd215b26e763a4062c3b636e0c52f6cb2c7584afca0fa39c7c9c7184bab675');
CREATE TABLE discreet_format (
	version INTEGER NOT NULL
);
INSERT INTO "discreet_format" VALUES(1);
CREATE INDEX discreet_entries_account ON discreet_entries (account, seq);
CREATE INDEX discreet_entries_kind ON discreet_entries (account, kind, seq);
CREATE INDEX discreet_entries_plan ON discreet_entries (plan_id, seq);
CREATE TRIGGER discreet_entries_no_UPDATE BEFORE UPDATE ON discreet_entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END;
CREATE TRIGGER discreet_entries_no_DELETE BEFORE DELETE ON discreet_entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END;
CREATE TRIGGER discreet_entries_append BEFORE INSERT ON discreet_entries
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM discreet_entries)
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are only added at its end'); END;
COMMIT;
