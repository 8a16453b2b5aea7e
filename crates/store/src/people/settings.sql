-- What owners set while the server runs, as JSON. It goes before the file of the configuration.
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Models that owners added while the server runs, oldest first by their rows. Their keys are among the secrets.
CREATE TABLE models (
    name TEXT PRIMARY KEY NOT NULL,
    provider TEXT NOT NULL CHECK (provider IN ('openai', 'anthropic')),
    url TEXT NOT NULL,
    model TEXT NOT NULL,
    key_secret TEXT,
    window_tokens INTEGER NOT NULL,
    output_tokens_max INTEGER NOT NULL,
    takes_prefix INTEGER NOT NULL,
    tools INTEGER NOT NULL
) STRICT;

-- How a user likes the pages, on every device.
CREATE TABLE preferences (
    user BLOB PRIMARY KEY REFERENCES users (id),
    busy TEXT NOT NULL CHECK (busy IN ('queue', 'steer', 'interrupt')),
    language TEXT,
    notify INTEGER NOT NULL,
    first_run_done INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who answers in a project unless a message says otherwise, and what the model is told there; none: as elsewhere.
ALTER TABLE projects ADD COLUMN model TEXT;
ALTER TABLE projects ADD COLUMN instructions TEXT;
