-- Keys that a device keeps for a user; only what checks them is here, as the library writes it.
CREATE TABLE passkeys (
    id BLOB PRIMARY KEY,
    user BLOB NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    -- How the device calls it.
    credential BLOB NOT NULL UNIQUE,
    passkey TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_by_user ON passkeys (user, created_at);

-- Who a user is at a provider of identities: by its own id for him, never by an address, which may go to somebody else.
CREATE TABLE identities (
    provider TEXT NOT NULL,
    subject TEXT NOT NULL,
    user BLOB NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (provider, subject)
) STRICT, WITHOUT ROWID;
