-- A ledger of format 2 in SQLite, with every kind of entry.
BEGIN TRANSACTION;
CREATE TABLE discreet_entries (
	seq INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	account VARCHAR(100), 
	release_id VARCHAR(64), 
	plan_id VARCHAR(64), 
	slot INTEGER, 
	spec_hash VARCHAR(200), 
	body TEXT NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (seq), 
	CONSTRAINT discreet_entries_once UNIQUE (release_id, kind), 
	UNIQUE (hash)
);
INSERT INTO "discreet_entries" VALUES(1,'begin',NULL,NULL,NULL,NULL,NULL,'{"at":"2026-01-15T12:00:00.000001Z","format":2,"kind":"begin","ledger_id":"j37ag7mv80myj0qnjy0t57zppx","previous":"0000000000000000000000000000000000000000000000000000000000000000","seq":1}','0333c5beb9ad3f7c366a863939e4ac66552bc72ed35adf293cb8521b90f4ebc0');
INSERT INTO "discreet_entries" VALUES(2,'open','clinic',NULL,NULL,NULL,NULL,'{"account":"clinic","approver":"A. Curator","at":"2026-01-15T12:00:00.000002Z","kind":"open","previous":"0333c5beb9ad3f7c366a863939e4ac66552bc72ed35adf293cb8521b90f4ebc0","reason":"review","seq":2,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":null,"period_spent":{"epsilon":"0"},"spent":{"epsilon":"0"}},"terms":{"adjacency":"add-remove","filter":"pure","period":"month","unit":"person"}}','060907cc97aeafcf3a41684cc3b0b6453d08b605e0ac446731980451c3d33ce8');
INSERT INTO "discreet_entries" VALUES(3,'reserve','clinic','qyw30fpkvk7m2dyb64w50w3aj7',NULL,NULL,'5555555555555555555555555555555555555555555555555555555555555555','{"account":"clinic","at":"2026-01-15T12:00:00.000004Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.1,"kind":"pure","rho":null}],"cost":{"epsilon":"0.1"},"kind":"reserve","previous":"060907cc97aeafcf3a41684cc3b0b6453d08b605e0ac446731980451c3d33ce8","purpose":"a täble","release_id":"qyw30fpkvk7m2dyb64w50w3aj7","seq":3,"spec_hash":"5555555555555555555555555555555555555555555555555555555555555555","standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.1"},"spent":{"epsilon":"0.1"}},"who":"ci"}','beaa852aa51f14d10b44ae4caea40a46110674ffde8aeb9babd83b10455ac4c7');
INSERT INTO "discreet_entries" VALUES(4,'commit','clinic','qyw30fpkvk7m2dyb64w50w3aj7',NULL,NULL,NULL,'{"account":"clinic","at":"2026-01-15T12:00:00.000005Z","kind":"commit","output_hash":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","previous":"beaa852aa51f14d10b44ae4caea40a46110674ffde8aeb9babd83b10455ac4c7","release_id":"qyw30fpkvk7m2dyb64w50w3aj7","seq":4,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.1"},"spent":{"epsilon":"0.1"}}}','2480be862671bea28e5637f0bc397a15c87dd84b805f89abee80088f04297748');
INSERT INTO "discreet_entries" VALUES(5,'charge','clinic','elsewhere',NULL,NULL,NULL,'{"account":"clinic","at":"2026-01-15T12:00:00.000007Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.2,"kind":"pure","rho":null}],"cost":{"epsilon":"0.2"},"kind":"charge","previous":"2480be862671bea28e5637f0bc397a15c87dd84b805f89abee80088f04297748","purpose":"a täble","release_id":"elsewhere","seq":5,"standing":{"cap":{"epsilon":"2"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.3"},"spent":{"epsilon":"0.3"}},"who":"ci"}','94fb008607801c90adea31b8207c24e8fd55797bcb77e4886a9922a21eaa32e7');
INSERT INTO "discreet_entries" VALUES(6,'grant','clinic',NULL,NULL,NULL,NULL,'{"account":"clinic","add":{"epsilon":"0.5"},"approver":"B","at":"2026-01-15T12:00:00.000009Z","kind":"grant","previous":"94fb008607801c90adea31b8207c24e8fd55797bcb77e4886a9922a21eaa32e7","reason":"more","seq":6,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.3"},"spent":{"epsilon":"0.3"}},"which":"lifetime"}','c14de99b2b048edeaeeb5a1839c2387b8f6e454bbb59da5989025bda05340542');
INSERT INTO "discreet_entries" VALUES(7,'plan','clinic',NULL,'s0vk30kfq5xmgg6x7hw0hakrvm',NULL,NULL,'{"account":"clinic","at":"2026-01-15T12:00:00.000011Z","charge":[{"adjacency":"add-remove","delta":null,"epsilon":0.2,"kind":"pure","rho":null}],"cost":{"epsilon":"0.2"},"kind":"plan","method":"basic","parts":[{"adjacency":"add-remove","delta":null,"epsilon":0.1,"kind":"pure","rho":null,"times":2}],"plan_id":"s0vk30kfq5xmgg6x7hw0hakrvm","previous":"c14de99b2b048edeaeeb5a1839c2387b8f6e454bbb59da5989025bda05340542","purpose":"a täble","seq":7,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"ci"}','6ebc7504f11e03cb4e99287a3652bc1bf48a276f3674b6128318c2d70c3fd0c9');
INSERT INTO "discreet_entries" VALUES(8,'slot','clinic','5qryr1cjp9p99n6qy3b4z64bmm','s0vk30kfq5xmgg6x7hw0hakrvm',1,'6666666666666666666666666666666666666666666666666666666666666666','{"account":"clinic","at":"2026-01-15T12:00:00.000012Z","idempotency_key":"first","kind":"slot","plan_id":"s0vk30kfq5xmgg6x7hw0hakrvm","previous":"6ebc7504f11e03cb4e99287a3652bc1bf48a276f3674b6128318c2d70c3fd0c9","purpose":"registered plan","release_id":"5qryr1cjp9p99n6qy3b4z64bmm","seq":8,"slot":1,"spec_hash":"6666666666666666666666666666666666666666666666666666666666666666","standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"plan"}','728b94dcb1bc6963cb1148f8b2ce6e18595a9bf55b4bfc40b59d347cfe5dbe40');
INSERT INTO "discreet_entries" VALUES(9,'commit','clinic','5qryr1cjp9p99n6qy3b4z64bmm','s0vk30kfq5xmgg6x7hw0hakrvm',1,NULL,'{"account":"clinic","at":"2026-01-15T12:00:00.000013Z","kind":"commit","output_hash":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","plan_id":"s0vk30kfq5xmgg6x7hw0hakrvm","previous":"728b94dcb1bc6963cb1148f8b2ce6e18595a9bf55b4bfc40b59d347cfe5dbe40","release_id":"5qryr1cjp9p99n6qy3b4z64bmm","seq":9,"slot":1,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}}}','919f56ced248867ff7cc73b28ea71e28633bb6196770473af8334dc4c862df05');
INSERT INTO "discreet_entries" VALUES(10,'slot','clinic','k6bncfycnst923mp08fdckftee','s0vk30kfq5xmgg6x7hw0hakrvm',2,NULL,'{"account":"clinic","at":"2026-01-15T12:00:00.000014Z","kind":"slot","plan_id":"s0vk30kfq5xmgg6x7hw0hakrvm","previous":"919f56ced248867ff7cc73b28ea71e28633bb6196770473af8334dc4c862df05","purpose":"registered plan","release_id":"k6bncfycnst923mp08fdckftee","seq":10,"slot":2,"standing":{"cap":{"epsilon":"2.5"},"period_cap":{"epsilon":"1"},"period_now":"2026-01","period_spent":{"epsilon":"0.5"},"spent":{"epsilon":"0.5"}},"who":"plan"}','8a8355409bae8e92702a7533b42ece662e95f16dea6bd98efd5f7d8d3a8cb4e6');
CREATE TABLE discreet_format (
	version INTEGER NOT NULL
);
INSERT INTO "discreet_format" VALUES(2);
CREATE INDEX discreet_entries_account ON discreet_entries (account, seq);
CREATE INDEX discreet_entries_plan ON discreet_entries (plan_id, seq);
CREATE INDEX discreet_entries_kind ON discreet_entries (account, kind, seq);
CREATE INDEX discreet_entries_spec ON discreet_entries (account, spec_hash);
CREATE TRIGGER discreet_entries_no_UPDATE BEFORE UPDATE ON discreet_entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END;
CREATE TRIGGER discreet_entries_no_DELETE BEFORE DELETE ON discreet_entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END;
CREATE TRIGGER discreet_entries_append BEFORE INSERT ON discreet_entries
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM discreet_entries)
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are only added at its end'); END;
COMMIT;
