-- Texts that can be found: an answer by its run, a message and a name under run 0. `shown` is the turn that shows the
-- text, `time` is when it was first complete, `seq` is the entry that completed it. `words` is what an index can find;
-- `text` has the same words in order, for phrases.
DROP TABLE documents;
CREATE TABLE documents (
    no BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    run BIGINT NOT NULL,
    shown BIGINT NOT NULL,
    time BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    words TSVECTOR NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (no, turn, run)
);
CREATE INDEX names_by_words ON documents USING GIN (words) WHERE turn = 0;
CREATE INDEX texts_by_words ON documents USING GIN (words) WHERE turn > 0;

-- The version of the format of a log's words. Opening the store rebuilds words of an older version, log by log.
ALTER TABLE logs ADD COLUMN words_form INT NOT NULL DEFAULT 0;
CREATE INDEX logs_by_words_form ON logs (words_form, no);
