-- Which chat speaks in which session. Not made from the logs: changed only by who knows what a row was.
CREATE TABLE chats (
    chat TEXT PRIMARY KEY,
    session BLOB NOT NULL,
    suspended INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX chats_by_session ON chats (session);

-- What an interruption leaves on a session. Logs of before have no marks; what was interrupted then counts from here on.
ALTER TABLE list ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE list ADD COLUMN resume_pending INTEGER NOT NULL DEFAULT 0;
