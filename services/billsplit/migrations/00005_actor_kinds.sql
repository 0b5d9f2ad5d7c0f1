-- Of which table an id of who did something is: lab_user, doctor, support, platform. Rows from before do not say it. Every
-- statement may run again; MySQL has no ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'bill_split_audit' AND COLUMN_NAME = 'created_by_kind') = 0,
  'ALTER TABLE bill_split_audit
    ADD COLUMN created_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '''' AFTER created_by',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'bill_split_merge' AND COLUMN_NAME = 'merged_by_kind') = 0,
  'ALTER TABLE bill_split_merge
    ADD COLUMN merged_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '''' AFTER merged_by',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
