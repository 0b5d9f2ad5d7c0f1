-- The person. The column full_name ends the migration phase: the pipeline fills these columns as soon as it sees it.
-- Columns with defaults in the middle of the table: instant on MariaDB 10.4 and MySQL 8.0.29 or later, a copy of the
-- table before. The table is captured: stop the connectors first (runbook, DDL). The statement is made to run again
-- after a crash between it and the note that it ran; MySQL has no ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'user_meta' AND COLUMN_NAME = 'full_name') = 0,
  'ALTER TABLE user_meta
    ADD COLUMN full_name VARCHAR(400) NOT NULL DEFAULT '''' AFTER lab_patient_id,
    ADD COLUMN contact VARCHAR(20) NOT NULL DEFAULT '''' AFTER full_name,
    ADD COLUMN alternate_contact VARCHAR(20) NOT NULL DEFAULT '''' AFTER contact,
    ADD COLUMN email VARCHAR(254) NOT NULL DEFAULT '''' AFTER alternate_contact,
    ADD COLUMN gender VARCHAR(16) NOT NULL DEFAULT '''' AFTER email,
    ADD COLUMN date_of_birth DATE NULL AFTER gender,
    ADD COLUMN age VARCHAR(16) NOT NULL DEFAULT '''' AFTER date_of_birth,
    ADD COLUMN passport_no VARCHAR(64) NOT NULL DEFAULT '''' AFTER age,
    ADD COLUMN national_identity_number VARCHAR(64) NOT NULL DEFAULT '''' AFTER passport_no',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;

-- +goose Down
ALTER TABLE user_meta
  DROP COLUMN full_name, DROP COLUMN contact, DROP COLUMN alternate_contact, DROP COLUMN email, DROP COLUMN gender,
  DROP COLUMN date_of_birth, DROP COLUMN age, DROP COLUMN passport_no, DROP COLUMN national_identity_number;
