-- What only the server itself may read, such as keys of providers: sealed with a key that is not in this file.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    sealed BLOB NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When something was done last is asked for with every look at the figures.
CREATE INDEX audit_by_action ON audit (action, time);
