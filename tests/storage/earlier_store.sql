-- Made with the last version without migrations: tests.storage.conftest has what is in it.
BEGIN TRANSACTION;
CREATE TABLE api_keys (
	id VARCHAR NOT NULL,
	digest BLOB NOT NULL,
	name VARCHAR NOT NULL,
	last4 VARCHAR NOT NULL,
	"plan" VARCHAR NOT NULL,
	spreadsheets JSON,
	worksheets JSON,
	read_only BOOLEAN NOT NULL,
	origins JSON NOT NULL,
	created_at VARCHAR NOT NULL,
	expires_at VARCHAR,
	revoked_at VARCHAR,
	readable JSON,
	writable JSON,
	formulas BOOLEAN DEFAULT 0 NOT NULL,
	last_used_at VARCHAR,
	may_delete BOOLEAN DEFAULT 0 NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (digest)
);
INSERT INTO "api_keys" (id, digest, name, last4, "plan", spreadsheets, worksheets, read_only, origins, created_at, expires_at, revoked_at, readable, writable, formulas, last_used_at, may_delete) VALUES('key_00000001',X'31','Büro','wxyz','paid','["one", "two"]','["St\u00e4dte", "a''!B1:Z9,''x"]',1,'["https://a.org"]','2026-03-01T12:00:00+00:00','2026-03-02T12:00:00.000001+00:00',NULL,'[" Gr\u00f6\u00dfe", "name"]','["name"]',0,'2026-03-01T12:00:00+00:00',0);
INSERT INTO "api_keys" (id, digest, name, last4, "plan", spreadsheets, worksheets, read_only, origins, created_at, expires_at, revoked_at, readable, writable, formulas, last_used_at, may_delete) VALUES('key_00000000',X'32','Büro','wxyz','paid',NULL,NULL,0,'[]','2026-03-01T12:00:01+00:00',NULL,'2026-03-01T12:00:00+00:00',NULL,NULL,1,NULL,1);
CREATE TABLE idempotency_records (
	scope VARCHAR NOT NULL,
	fingerprint VARCHAR NOT NULL,
	worksheet VARCHAR NOT NULL,
	sent_at FLOAT NOT NULL,
	first_row INTEGER NOT NULL,
	rows VARCHAR NOT NULL,
	answer VARCHAR,
	key_id VARCHAR DEFAULT '' NOT NULL,
	size INTEGER DEFAULT '0' NOT NULL,
	fence_id INTEGER,
	fence_key VARCHAR,
	token VARCHAR,
	numbers VARCHAR DEFAULT '[]' NOT NULL,
	removes_rows BOOLEAN DEFAULT '0' NOT NULL,
	last_removal INTEGER DEFAULT '0' NOT NULL,
	PRIMARY KEY (scope)
);
INSERT INTO "idempotency_records" VALUES('s1','f1','book/Cities',1000.0,5,'[["Bern",1,1.5,true,null,"","=1+1 ''ü'' 🏙"],["Basel"]]',NULL,'',456,7,'gw','t1','[]',0,0);
INSERT INTO "idempotency_records" VALUES('s2','f1','book/Cities',1000.0,0,'[]','{"results":[{"row":7,"record":{"rowIndex":7,"name":null},"tag":"\"t\"","ignored":["x"]}]}','',491,NULL,NULL,NULL,'[]',0,0);
CREATE TABLE key_changes (
	number INTEGER NOT NULL,
	digest BLOB NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "key_changes" VALUES(1,X'31');
INSERT INTO "key_changes" VALUES(2,X'32');
INSERT INTO "key_changes" VALUES(3,X'32');
CREATE TABLE pepper (
	id INTEGER NOT NULL,
	mark BLOB NOT NULL,
	PRIMARY KEY (id)
);
INSERT INTO "pepper" VALUES(0,X'6D61726B');
CREATE TABLE row_removals (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	worksheet VARCHAR NOT NULL,
	removed VARCHAR NOT NULL,
	sent_at FLOAT NOT NULL,
	is_applied BOOLEAN NOT NULL,
	fence_id INTEGER NOT NULL,
	fence_key VARCHAR NOT NULL,
	token VARCHAR NOT NULL
);
INSERT INTO "row_removals" VALUES(1,'book/Cities','[2]',1000.0,1,77,'gw','removal');
INSERT INTO "row_removals" VALUES(2,'book/Cities','[3]',1000.0,0,78,'gw','second');
CREATE INDEX idempotency_records_by_age ON idempotency_records (sent_at);
CREATE TRIGGER key_added AFTER INSERT ON api_keys BEGIN INSERT INTO key_changes (digest) VALUES (NEW.digest); END;
CREATE TRIGGER key_replaced BEFORE INSERT ON api_keys BEGIN INSERT INTO key_changes (digest) SELECT digest FROM api_keys WHERE id = NEW.id; END;
CREATE TRIGGER key_deleted AFTER DELETE ON api_keys BEGIN INSERT INTO key_changes (digest) VALUES (OLD.digest); END;
CREATE TRIGGER key_changed AFTER UPDATE OF "id", "digest", "name", "last4", "plan", "spreadsheets", "worksheets", "read_only", "origins", "created_at", "expires_at", "revoked_at", "readable", "writable", "formulas", "may_delete" ON api_keys BEGIN INSERT INTO key_changes (digest) SELECT OLD.digest UNION SELECT NEW.digest; END;
CREATE INDEX idempotency_records_by_key ON idempotency_records (key_id, sent_at, size) WHERE answer IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('row_removals',2);
COMMIT;
