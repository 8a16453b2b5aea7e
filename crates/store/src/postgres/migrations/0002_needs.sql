-- Whether a run is going on, and whether a person is waited for. Logs of before say so from their next run on.
ALTER TABLE list ADD COLUMN live BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE list ADD COLUMN needs BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE list SET live = TRUE WHERE no IN (SELECT no FROM open_runs);
CREATE INDEX list_live ON list (user_id, shelf, active_at, no) WHERE live;
CREATE INDEX list_needing ON list (user_id, shelf, active_at, no) WHERE needs;
