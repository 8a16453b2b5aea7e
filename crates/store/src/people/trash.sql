-- How long the server has been observed to run, in microseconds, and the time of day when it last looked. A step of more
-- than two days, or backward, is a clock that jumped, or a server that was off: it counts as nothing.
CREATE TABLE observed (micros INTEGER NOT NULL, looked_at INTEGER NOT NULL) STRICT;
-- Trashed sessions, and the observed time at which each was first seen in the trash.
CREATE TABLE trash (session BLOB PRIMARY KEY, trashed_at INTEGER NOT NULL, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
