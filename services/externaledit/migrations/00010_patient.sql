-- The patient of the report when the editing session began: a document is not saved or restored once the report belongs to another
-- person. NULL: sessions of the previous version.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'external_edit_session' AND COLUMN_NAME = 'patient_id') = 0,
  'ALTER TABLE external_edit_session
    ADD COLUMN patient_id BIGINT NULL',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
