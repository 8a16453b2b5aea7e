-- Whose session it is. What was made before there were several users belongs to the first.
ALTER TABLE list ADD COLUMN user BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';
DROP INDEX list_by_activity;
CREATE INDEX list_by_activity ON list (user, shelf, active_at, no);
