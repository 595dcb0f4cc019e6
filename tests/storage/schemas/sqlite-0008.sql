CREATE TABLE admin_secrets (
    digest BLOB NOT NULL,
    kind VARCHAR NOT NULL,
    key_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    last4 VARCHAR NOT NULL,
    created_at VARCHAR NOT NULL,
    expires_at VARCHAR,
    PRIMARY KEY (digest)
);
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0008');
CREATE TABLE api_keys (
    id VARCHAR NOT NULL,
    digest BLOB NOT NULL,
    name VARCHAR NOT NULL,
    last4 VARCHAR NOT NULL,
    "plan" VARCHAR NOT NULL,
    spreadsheets VARCHAR,
    worksheets VARCHAR,
    read_only BOOLEAN NOT NULL,
    origins VARCHAR NOT NULL,
    created_at VARCHAR NOT NULL,
    expires_at VARCHAR,
    revoked_at VARCHAR,
    readable VARCHAR,
    writable VARCHAR,
    last_used_at VARCHAR,
    may_delete BOOLEAN DEFAULT 0 NOT NULL,
    may_refresh BOOLEAN DEFAULT 0 NOT NULL, rights VARCHAR, old_digest BLOB, old_ends_at VARCHAR, next_url VARCHAR DEFAULT '' NOT NULL, needs_challenge BOOLEAN DEFAULT 0 NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (digest)
);
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
    removes_rows BOOLEAN DEFAULT 0 NOT NULL,
    last_removal INTEGER DEFAULT '0' NOT NULL,
    PRIMARY KEY (scope)
);
CREATE TABLE key_changes (
    number INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE key_edits (
    id VARCHAR NOT NULL,
    key_id VARCHAR NOT NULL,
    at VARCHAR NOT NULL,
    "by" VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    changes VARCHAR NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE key_usage (
    hour VARCHAR NOT NULL,
    key_id VARCHAR NOT NULL,
    spreadsheet VARCHAR NOT NULL,
    worksheet VARCHAR NOT NULL,
    code INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    reads INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (hour, key_id, spreadsheet, worksheet, code)
);
CREATE TABLE pepper (
    id INTEGER NOT NULL,
    mark BLOB NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE row_removals (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    worksheet VARCHAR NOT NULL,
    removed VARCHAR NOT NULL,
    sent_at FLOAT NOT NULL,
    is_applied BOOLEAN NOT NULL,
    fence_id INTEGER NOT NULL,
    fence_key VARCHAR NOT NULL,
    token VARCHAR NOT NULL,
    updated VARCHAR DEFAULT '[]' NOT NULL,
    is_exclusive BOOLEAN DEFAULT 1 NOT NULL,
    sheet_id INTEGER
);
CREATE TABLE spent_quota (
    account VARCHAR NOT NULL,
    is_write BOOLEAN NOT NULL,
    full_at FLOAT NOT NULL,
    PRIMARY KEY (account, is_write)
);
CREATE TABLE worksheets (
    spreadsheet VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    sheet_id INTEGER,
    fence_id INTEGER,
    fence_key VARCHAR,
    token VARCHAR,
    epoch VARCHAR,
    last_row INTEGER,
    header_digest BLOB,
    holder VARCHAR,
    sent_at FLOAT,
    PRIMARY KEY (spreadsheet, title)
);
CREATE INDEX idempotency_records_by_age ON idempotency_records (sent_at);
CREATE INDEX idempotency_records_by_removal ON idempotency_records (worksheet, last_removal);
CREATE INDEX idempotency_records_by_key ON idempotency_records (key_id, sent_at, size) WHERE answer IS NOT NULL;
CREATE INDEX idempotency_records_by_fence ON idempotency_records (fence_id) WHERE answer IS NULL;
CREATE INDEX row_removals_by_token ON row_removals (token);
CREATE INDEX row_removals_by_worksheet ON row_removals (worksheet, id);
CREATE UNIQUE INDEX api_keys_by_old_digest ON api_keys (old_digest);
CREATE INDEX ix_key_edits_key_id ON key_edits (key_id);
CREATE TRIGGER key_added AFTER INSERT ON api_keys BEGIN INSERT INTO key_changes (digest) SELECT digest FROM (SELECT NEW.digest AS digest UNION SELECT NEW.old_digest) WHERE digest IS NOT NULL; END;
CREATE TRIGGER key_replaced BEFORE INSERT ON api_keys BEGIN INSERT INTO key_changes (digest) SELECT digest FROM api_keys WHERE id = NEW.id UNION SELECT old_digest FROM api_keys WHERE id = NEW.id AND old_digest IS NOT NULL; END;
CREATE TRIGGER key_deleted AFTER DELETE ON api_keys BEGIN INSERT INTO key_changes (digest) SELECT digest FROM (SELECT OLD.digest AS digest UNION SELECT OLD.old_digest) WHERE digest IS NOT NULL; END;
CREATE TRIGGER key_changed AFTER UPDATE OF "id", "digest", "name", "last4", "plan", "spreadsheets", "worksheets", "read_only", "origins", "created_at", "expires_at", "revoked_at", "readable", "writable", "may_delete", "may_refresh", "rights", "old_digest", "old_ends_at", "next_url", "needs_challenge" ON api_keys BEGIN INSERT INTO key_changes (digest) SELECT digest FROM (SELECT OLD.digest AS digest UNION SELECT OLD.old_digest UNION SELECT NEW.digest UNION SELECT NEW.old_digest) WHERE digest IS NOT NULL; END;
CREATE INDEX ix_admin_secrets_key_id ON admin_secrets (key_id);
