-- Observed time in microseconds, and the wall-clock time of the last observation. Backward steps and steps of more than two
-- days (a clock jump, or downtime) do not count.
CREATE TABLE observed (micros INTEGER NOT NULL, looked_at INTEGER NOT NULL) STRICT;
-- Trashed sessions, and the observed time at which each was first seen in the trash.
CREATE TABLE trash (session BLOB PRIMARY KEY, trashed_at INTEGER NOT NULL, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
