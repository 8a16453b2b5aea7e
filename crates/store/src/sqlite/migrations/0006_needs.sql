-- Why a session waits for a person. Logs of before say so from their next run on.
ALTER TABLE list ADD COLUMN needs INTEGER NOT NULL DEFAULT 0;
CREATE INDEX list_live ON list (user, shelf, active_at, no) WHERE run IS NOT NULL;
CREATE INDEX list_needing ON list (user, shelf, active_at, no) WHERE needs > 0;
CREATE INDEX list_pinned ON list (user, shelf, active_at, no) WHERE pinned = 1;
