-- A log and who writes it. `no` is its short name inside this file, `key` the id under which it was made. A branch
-- shares the log of `parent` up to `base_seq`. A `no` is never used again: what was asked about an erased log must not
-- be answered with another.
CREATE TABLE logs (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    key BLOB NOT NULL UNIQUE,
    node BLOB,
    epoch INTEGER NOT NULL,
    parent INTEGER,
    base_seq INTEGER NOT NULL,
    base_epoch INTEGER NOT NULL,
    base_hash BLOB NOT NULL,
    -- Erased, but branches still share its beginning.
    trunk INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX logs_by_parent ON logs (parent) WHERE parent IS NOT NULL;

-- Every id that ever led to a session. An id is never used again: `no` is null once it was deleted.
CREATE TABLE session_ids (id BLOB PRIMARY KEY, no INTEGER) STRICT, WITHOUT ROWID;
CREATE INDEX session_ids_by_no ON session_ids (no);

CREATE TABLE nodes (node BLOB PRIMARY KEY, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- The end of all logs that is not packed yet: appended at its end, trimmed from its beginning, never in between.
-- It has no index; which rows belong to a session is known in memory and found by one scan at start.
CREATE TABLE tail (
    id INTEGER PRIMARY KEY,
    no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    time INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    hash BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;

-- Sealed ranges of a log, compressed. `prev_*` is the link before the first entry, `last_*` the last one.
CREATE TABLE packs (
    id INTEGER PRIMARY KEY,
    no INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    prev_epoch INTEGER NOT NULL,
    prev_hash BLOB NOT NULL,
    last_epoch INTEGER NOT NULL,
    last_hash BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX packs_by_seq ON packs (no, first_seq);

-- Idempotency keys, without expiry.
CREATE TABLE keys (
    no INTEGER NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    PRIMARY KEY (no, key)
) STRICT, WITHOUT ROWID;

-- Runs that were started and not ended, or whose journal is still awaited.
CREATE TABLE open_runs (no INTEGER NOT NULL, run INTEGER NOT NULL, spool INTEGER, PRIMARY KEY (no, run)) STRICT, WITHOUT ROWID;

-- The list of sessions. `shelf`: 0 active, 1 archived, 2 trash, -1 a branch whose first entry has not come.
CREATE TABLE list (
    no INTEGER PRIMARY KEY,
    title TEXT,
    named_by_person INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    active_at INTEGER NOT NULL,
    run INTEGER,
    messages INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    trashed INTEGER NOT NULL,
    shelf INTEGER NOT NULL
) STRICT;
CREATE INDEX list_by_activity ON list (shelf, active_at, no);

-- From here on: projections behind the log, each as far as `watermarks` says, all rebuildable.
CREATE TABLE watermarks (no INTEGER PRIMARY KEY, indexed_to INTEGER NOT NULL) STRICT;

CREATE TABLE snapshots (
    no INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    hash BLOB NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- Where a turn's entries stand. `position` is null while its message waits; `hidden` names the entry that hid it.
CREATE TABLE turns (
    no INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    position INTEGER,
    message INTEGER NOT NULL,
    last INTEGER NOT NULL,
    hidden INTEGER,
    PRIMARY KEY (no, turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_by_position ON turns (no, position) WHERE position IS NOT NULL;
CREATE INDEX turns_that_wait ON turns (no) WHERE position IS NULL;

-- Which file of words belongs to these logs, and how many of its commits they rely on. No row: it is made anew.
CREATE TABLE search (generation BLOB NOT NULL, commits INTEGER NOT NULL) STRICT;

-- Erased logs whose words are not removed yet.
CREATE TABLE doomed_words (no INTEGER PRIMARY KEY) STRICT;

CREATE TABLE blob_uses (blob TEXT NOT NULL, no INTEGER NOT NULL, PRIMARY KEY (blob, no)) STRICT, WITHOUT ROWID;
CREATE INDEX blob_uses_by_no ON blob_uses (no);

-- Blobs of erased sessions whose files are not removed yet.
CREATE TABLE doomed_blobs (blob TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
