CREATE TABLE row_removals (
    id BIGSERIAL NOT NULL,
    worksheet VARCHAR NOT NULL,
    removed VARCHAR NOT NULL,
    sent_at FLOAT NOT NULL,
    is_applied BOOLEAN NOT NULL,
    fence_id INTEGER NOT NULL,
    fence_key VARCHAR NOT NULL,
    token VARCHAR NOT NULL,
    updated VARCHAR DEFAULT '[]' NOT NULL,
    is_exclusive BOOLEAN DEFAULT true NOT NULL,
    sheet_id INTEGER,
    PRIMARY KEY (id)
);

CREATE INDEX row_removals_by_worksheet ON row_removals (worksheet, id);

CREATE INDEX row_removals_by_token ON row_removals (token);

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
    removes_rows BOOLEAN DEFAULT false NOT NULL,
    last_removal BIGINT DEFAULT '0' NOT NULL,
    PRIMARY KEY (scope)
);

CREATE INDEX idempotency_records_by_age ON idempotency_records (sent_at);

CREATE INDEX idempotency_records_by_removal ON idempotency_records (worksheet, last_removal);

CREATE INDEX idempotency_records_by_key ON idempotency_records (key_id, sent_at, size) WHERE answer IS NOT NULL;

CREATE INDEX idempotency_records_by_fence ON idempotency_records (fence_id) WHERE answer IS NULL;

CREATE TABLE worksheets (
    spreadsheet VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    sheet_id INTEGER,
    fence_id INTEGER,
    fence_key VARCHAR,
    token VARCHAR,
    epoch VARCHAR,
    last_row INTEGER,
    header_digest BYTEA,
    holder VARCHAR,
    sent_at FLOAT,
    PRIMARY KEY (spreadsheet, title)
);

CREATE TABLE admin_secrets (
    digest BYTEA NOT NULL,
    kind VARCHAR NOT NULL,
    key_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    last4 VARCHAR NOT NULL,
    created_at VARCHAR COLLATE "C" NOT NULL,
    expires_at VARCHAR COLLATE "C",
    PRIMARY KEY (digest)
);

CREATE INDEX ix_admin_secrets_key_id ON admin_secrets (key_id);

CREATE TABLE spent_quota (
    account VARCHAR NOT NULL,
    is_write BOOLEAN NOT NULL,
    full_at FLOAT NOT NULL,
    PRIMARY KEY (account, is_write)
);

CREATE TABLE key_usage (
    hour VARCHAR COLLATE "C" NOT NULL,
    key_id VARCHAR NOT NULL,
    spreadsheet VARCHAR NOT NULL,
    worksheet VARCHAR NOT NULL,
    code INTEGER NOT NULL,
    requests BIGINT NOT NULL,
    reads BIGINT NOT NULL,
    writes BIGINT NOT NULL,
    rows BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (hour, key_id, spreadsheet, worksheet, code)
);

CREATE TABLE api_keys (
    id VARCHAR NOT NULL,
    digest BYTEA NOT NULL,
    name VARCHAR NOT NULL,
    last4 VARCHAR NOT NULL,
    plan VARCHAR NOT NULL,
    spreadsheets VARCHAR,
    worksheets VARCHAR,
    read_only BOOLEAN NOT NULL,
    origins VARCHAR NOT NULL,
    created_at VARCHAR COLLATE "C" NOT NULL,
    expires_at VARCHAR COLLATE "C",
    revoked_at VARCHAR COLLATE "C",
    readable VARCHAR,
    writable VARCHAR,
    last_used_at VARCHAR COLLATE "C",
    may_delete BOOLEAN DEFAULT false NOT NULL,
    may_refresh BOOLEAN DEFAULT false NOT NULL,
    rights VARCHAR,
    old_digest BYTEA,
    old_ends_at VARCHAR COLLATE "C",
    next_url VARCHAR DEFAULT '' NOT NULL,
    needs_challenge BOOLEAN DEFAULT false NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (digest)
);

CREATE UNIQUE INDEX api_keys_by_old_digest ON api_keys (old_digest);

CREATE TABLE key_edits (
    id VARCHAR NOT NULL,
    key_id VARCHAR NOT NULL,
    at VARCHAR COLLATE "C" NOT NULL,
    by VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    changes VARCHAR NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_key_edits_key_id ON key_edits (key_id);

CREATE TABLE pepper (
    id INTEGER NOT NULL,
    mark BYTEA NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE key_changes (
    number BIGSERIAL NOT NULL,
    digest BYTEA NOT NULL,
    PRIMARY KEY (number)
);

CREATE FUNCTION lock_key_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock('key_changes'::regclass::oid::bigint);
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO key_changes (digest) SELECT digest FROM api_keys
        UNION ALL SELECT old_digest FROM api_keys WHERE old_digest IS NOT NULL;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION log_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    digests bytea[] := ARRAY[]::bytea[];
BEGIN
    IF TG_OP <> 'INSERT' THEN
        digests := digests || OLD.digest || OLD.old_digest;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        digests := digests || NEW.digest || NEW.old_digest;
    END IF;
    INSERT INTO key_changes (digest)
    SELECT DISTINCT changed.digest FROM unnest(digests) AS changed (digest)
    WHERE changed.digest IS NOT NULL;
    RETURN NULL;
END $$;

CREATE TRIGGER keys_locked BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON api_keys FOR EACH STATEMENT EXECUTE FUNCTION lock_key_changes();

CREATE TRIGGER key_added_or_deleted AFTER INSERT OR DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION log_key_change();

CREATE TRIGGER key_changed AFTER UPDATE ON api_keys FOR EACH ROW WHEN (to_jsonb(NEW) - 'last_used_at' IS DISTINCT FROM to_jsonb(OLD) - 'last_used_at') EXECUTE FUNCTION log_key_change();

CREATE FUNCTION signal_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('gateway_keys', '');
    RETURN NULL;
END $$;

CREATE TRIGGER key_change_signalled AFTER INSERT ON key_changes FOR EACH STATEMENT EXECUTE FUNCTION signal_key_change();

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

INSERT INTO alembic_version VALUES ('0008');
