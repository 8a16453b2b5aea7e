-- Uploads that no message names yet. An erase keeps their bytes; they expire after a day.
CREATE TABLE pending_blobs (blob TEXT PRIMARY KEY, at BIGINT NOT NULL);
