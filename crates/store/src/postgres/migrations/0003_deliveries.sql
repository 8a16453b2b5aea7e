-- How many answers of a session are owed to chats.
ALTER TABLE list ADD COLUMN undelivered BIGINT NOT NULL DEFAULT 0;
CREATE INDEX list_undelivered ON list (no) WHERE undelivered > 0;
