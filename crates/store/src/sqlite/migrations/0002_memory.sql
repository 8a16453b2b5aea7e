-- What sessions owe to memory: found without reading a log. Logs of before owe nothing to anyone.
ALTER TABLE list ADD COLUMN remembers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE list ADD COLUMN owed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX list_that_owe ON list (no) WHERE owed > 0;
