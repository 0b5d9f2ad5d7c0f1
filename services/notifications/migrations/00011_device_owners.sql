-- Whose a device is, by kind of login: users of different tables have the same numbers. generation counts the changes of
-- a row, so that who reads and writes it later finds out that somebody else wrote in between. A row without a kind belongs
-- to nobody until its browser subscribes again; lab_user_id alone does not say which table it is of.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'FcmDevices' AND COLUMN_NAME = 'user_type') = 0,
  'ALTER TABLE FcmDevices
    ADD COLUMN user_type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '''' AFTER lab_id,
    ADD COLUMN generation BIGINT NOT NULL DEFAULT 0',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
UPDATE FcmDevices SET user_type = CASE WHEN org_id IS NOT NULL THEN 'org' WHEN doctor_id IS NOT NULL THEN 'doctor' ELSE 'lab_user' END
  WHERE user_type = '' AND (org_id IS NOT NULL OR doctor_id IS NOT NULL OR lab_user_id IS NOT NULL AND topics LIKE '%_user_%');

-- +goose Down
ALTER TABLE FcmDevices DROP COLUMN user_type, DROP COLUMN generation;
