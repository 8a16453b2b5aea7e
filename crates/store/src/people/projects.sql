-- What a user puts sessions into. An id is the user's own: two users may have the same one and know nothing of it.
CREATE TABLE projects (
    user BLOB NOT NULL REFERENCES users (id),
    id BLOB NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user, id)
) STRICT, WITHOUT ROWID;
