-- What each moved row said when it moved, and how often the old bill had been written after the split (billing.version):
-- an undoing compares both. Rows from before do not say it, and are not undone. Every statement may run again; MySQL has
-- no ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'bill_split_audit' AND COLUMN_NAME = 'moved_rows') = 0,
  'ALTER TABLE bill_split_audit
    ADD COLUMN moved_rows JSON NULL AFTER moved_billing_info_ids,
    ADD COLUMN parent_version INT NOT NULL DEFAULT 0 AFTER moved_rows',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
