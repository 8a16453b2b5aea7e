-- Counts how often a draft was replaced, so that a late request does not replace a newer text.
ALTER TABLE drafts ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
