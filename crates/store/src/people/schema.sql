-- Those who use the server. The first one set it up and has the id that older sessions belong to.
CREATE TABLE users (
    id BLOB PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    role TEXT NOT NULL CHECK (role IN ('owner', 'member')),
    -- As argon2id writes it; none: there is no login by password.
    password TEXT,
    disabled INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What opens the gate: tokens of programs and logins of browsers. Only hashes are kept.
CREATE TABLE credentials (
    id BLOB PRIMARY KEY,
    user BLOB NOT NULL REFERENCES users (id),
    kind TEXT NOT NULL CHECK (kind IN ('token', 'login')),
    name TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('read', 'write', 'manage')),
    hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    used_at INTEGER,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX credentials_by_user ON credentials (user, kind, created_at);

-- Links by which one session can be read by whoever has them.
CREATE TABLE shares (
    id BLOB PRIMARY KEY,
    user BLOB NOT NULL REFERENCES users (id),
    session BLOB NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX shares_by_session ON shares (session);

-- Who brought which file: nobody else may name or read it.
CREATE TABLE uploads (blob TEXT NOT NULL, user BLOB NOT NULL, PRIMARY KEY (blob, user)) STRICT, WITHOUT ROWID;

-- What was done about people and access, and by whom; written with what it tells of, never changed.
CREATE TABLE audit (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    user BLOB,
    action TEXT NOT NULL,
    about TEXT NOT NULL
) STRICT;
