-- What a user is writing in a session and has not sent: the same on every device. Never part of a log.
CREATE TABLE drafts (
    user BLOB NOT NULL REFERENCES users (id),
    session BLOB NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (user, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX drafts_by_session ON drafts (session);
