-- A log: who may write it. It exists for others once it has an entry beyond those that it shares as a branch.
CREATE TABLE logs (
    no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key UUID NOT NULL UNIQUE,
    holder UUID,
    claim_epoch BIGINT NOT NULL,
    shared_seq BIGINT NOT NULL,
    erased BOOLEAN NOT NULL DEFAULT FALSE
);

CREATE TABLE entries (
    no BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    time BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (no, seq)
);

-- Every id that ever led to a session; it leads nowhere any more when `no` is null.
CREATE TABLE session_ids (id UUID PRIMARY KEY, no BIGINT);
CREATE INDEX session_ids_by_no ON session_ids (no);

CREATE TABLE keys (
    no BIGINT NOT NULL,
    key BYTEA NOT NULL,
    seq BIGINT NOT NULL,
    fingerprint BYTEA NOT NULL,
    PRIMARY KEY (no, key)
);

CREATE TABLE open_runs (no BIGINT NOT NULL, run BIGINT NOT NULL, spool BIGINT, PRIMARY KEY (no, run));

CREATE TABLE nodes (node UUID PRIMARY KEY, seen_at BIGINT NOT NULL);

CREATE TABLE chats (chat BYTEA PRIMARY KEY, session UUID NOT NULL, suspended BOOLEAN NOT NULL DEFAULT FALSE);
CREATE INDEX chats_by_session ON chats (session);

-- From here on: folds of the logs, written with the entries they follow from. Shelf -1: not listed yet.
CREATE TABLE list (
    no BIGINT PRIMARY KEY,
    user_id UUID NOT NULL,
    shelf SMALLINT NOT NULL,
    active_at BIGINT NOT NULL,
    owed BIGINT NOT NULL,
    trashed_at BIGINT,
    project UUID,
    row TEXT NOT NULL
);
CREATE INDEX list_by_activity ON list (user_id, shelf, active_at, no);
CREATE INDEX list_that_owe ON list (no) WHERE owed > 0;
CREATE INDEX list_in_trash ON list (trashed_at) WHERE trashed_at IS NOT NULL;
CREATE INDEX list_by_project ON list (user_id, project, shelf, active_at, no) WHERE project IS NOT NULL;

-- The tags of a session, each by itself, in the order of a page.
CREATE TABLE list_tags (
    user_id UUID NOT NULL,
    tag TEXT COLLATE "C" NOT NULL,
    shelf SMALLINT NOT NULL,
    active_at BIGINT NOT NULL,
    no BIGINT NOT NULL,
    PRIMARY KEY (user_id, tag, shelf, active_at, no)
);
CREATE INDEX list_tags_by_no ON list_tags (no);

CREATE TABLE turns (
    no BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    position BIGINT,
    message BIGINT NOT NULL,
    last BIGINT NOT NULL,
    hidden BIGINT,
    PRIMARY KEY (no, turn)
);
CREATE INDEX turns_by_position ON turns (no, position);
CREATE INDEX turns_that_wait ON turns (no) WHERE position IS NULL;

-- Texts that can be found: an answer by its run, a message under run 0.
CREATE TABLE documents (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    no BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    run BIGINT NOT NULL,
    time BIGINT NOT NULL,
    words TSVECTOR NOT NULL,
    UNIQUE (no, turn, run)
);
CREATE INDEX documents_by_words ON documents USING GIN (words);

CREATE TABLE snapshots (no BIGINT PRIMARY KEY, seq BIGINT NOT NULL, epoch BIGINT NOT NULL, hash BYTEA NOT NULL, body BYTEA NOT NULL);

CREATE TABLE blobs (blob TEXT PRIMARY KEY, bytes BYTEA NOT NULL);
CREATE TABLE blob_uses (blob TEXT NOT NULL, no BIGINT NOT NULL, PRIMARY KEY (blob, no));
CREATE INDEX blob_uses_by_no ON blob_uses (no);
