-- How often a laboratory escalates, and whether a spoken callout needs a read-back. NULL is the default.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'callout_setting' AND COLUMN_NAME = 'escalate_most') = 0,
  'ALTER TABLE callout_setting
    ADD COLUMN escalate_most INT NULL AFTER escalate_after_minutes,
    ADD COLUMN read_back_needed TINYINT NULL',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;

-- +goose Down
ALTER TABLE callout_setting DROP COLUMN escalate_most, DROP COLUMN read_back_needed;
