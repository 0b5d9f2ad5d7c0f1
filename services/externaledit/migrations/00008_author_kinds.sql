-- An author may be a doctor, whose numbers are of another table than laboratory users'. author_listed: the platform's list of
-- users gave the author the permission when the session began, so its absence later is a withdrawal. Every statement may
-- run again; MySQL has no ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'external_edit_session' AND COLUMN_NAME = 'author_is_doctor') = 0,
  'ALTER TABLE external_edit_session
    ADD COLUMN author_is_doctor TINYINT NOT NULL DEFAULT 0 AFTER author_name,
    ADD COLUMN author_listed TINYINT NOT NULL DEFAULT 0 AFTER author_is_doctor',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'external_edit_revision' AND COLUMN_NAME = 'uploaded_by_doctor') = 0,
  'ALTER TABLE external_edit_revision
    ADD COLUMN uploaded_by_doctor TINYINT NOT NULL DEFAULT 0 AFTER uploaded_by_name',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
