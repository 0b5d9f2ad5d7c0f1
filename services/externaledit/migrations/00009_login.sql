-- The login that an editing session was opened with, sealed, for an author of whom the platform's list of users says nothing: a save
-- asks whether it still may edit. NULL: an author of the list, a login by token, and sessions of the previous version.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'external_edit_session' AND COLUMN_NAME = 'login') = 0,
  'ALTER TABLE external_edit_session
    ADD COLUMN login VARBINARY(512) NULL',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
