-- How far each messaging platform was read.
CREATE TABLE gateway_cursors (
    platform TEXT PRIMARY KEY NOT NULL,
    cursor TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who is let in from a platform, and in whose sessions they speak.
CREATE TABLE gateway_peers (
    platform TEXT NOT NULL,
    peer TEXT NOT NULL,
    user BLOB NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (platform, peer)
) STRICT, WITHOUT ROWID;

-- Strangers who asked to be let in. Of their codes only hashes are kept.
CREATE TABLE gateway_pairings (
    platform TEXT NOT NULL,
    peer TEXT NOT NULL,
    name TEXT NOT NULL,
    code BLOB NOT NULL UNIQUE,
    asked_at INTEGER NOT NULL,
    PRIMARY KEY (platform, peer)
) STRICT, WITHOUT ROWID;

-- What platforms told and was taken, by their own names of it: where it belongs, and whether it is done.
CREATE TABLE gateway_taken (
    platform TEXT NOT NULL,
    event TEXT NOT NULL,
    session BLOB,
    about INTEGER,
    done INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (platform, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX gateway_taken_by_time ON gateway_taken (at);

-- Which model a chat chose.
CREATE TABLE gateway_models (
    chat TEXT PRIMARY KEY NOT NULL,
    model TEXT NOT NULL
) STRICT, WITHOUT ROWID;
