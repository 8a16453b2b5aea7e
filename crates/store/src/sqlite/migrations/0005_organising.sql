-- How people keep order. What was in the trash before counts from here on: when it went there stands in its log only.
ALTER TABLE list ADD COLUMN trashed_at INTEGER;
UPDATE list SET trashed_at = unixepoch() * 1000000 WHERE trashed = 1;
CREATE INDEX list_in_trash ON list (trashed_at) WHERE trashed_at IS NOT NULL;

ALTER TABLE list ADD COLUMN project BLOB;
CREATE INDEX list_by_project ON list (user, project, shelf, active_at, no) WHERE project IS NOT NULL;

-- The tags of a session as JSON, and below once more each by itself, in the order of a page.
ALTER TABLE list ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
CREATE TABLE list_tags (
    user BLOB NOT NULL,
    tag TEXT NOT NULL,
    shelf INTEGER NOT NULL,
    active_at INTEGER NOT NULL,
    no INTEGER NOT NULL,
    PRIMARY KEY (user, tag, shelf, active_at, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX list_tags_by_no ON list_tags (no);
