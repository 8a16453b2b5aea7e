-- Whether a run is going on, whether a person is waited for, and what is pinned. Logs of before say so from their next run on.
ALTER TABLE list ADD COLUMN live BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE list ADD COLUMN needs BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE list ADD COLUMN pinned BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE list SET pinned = (row::JSON ->> 'pinned')::BOOLEAN;
UPDATE list SET live = TRUE WHERE no IN (SELECT no FROM open_runs);
CREATE INDEX list_live ON list (user_id, shelf, active_at, no) WHERE live;
CREATE INDEX list_needing ON list (user_id, shelf, active_at, no) WHERE needs;
CREATE INDEX list_pinned ON list (user_id, shelf, active_at, no) WHERE pinned;
