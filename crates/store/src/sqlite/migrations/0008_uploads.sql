-- Uploads that no message names yet. An erase keeps their files; they expire after a day.
CREATE TABLE pending_blobs (blob TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
