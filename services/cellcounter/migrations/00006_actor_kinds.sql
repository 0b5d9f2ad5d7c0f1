-- Of which table an id of who did something is: lab_user, doctor, support, platform. Rows from before do not say it. Every
-- statement may run again; MySQL has no ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'cell_counter_mappings' AND COLUMN_NAME = 'created_by_kind') = 0,
  'ALTER TABLE cell_counter_mappings
    ADD COLUMN created_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '''' AFTER created_by,
    ADD COLUMN updated_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '''' AFTER updated_by',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'cell_count' AND COLUMN_NAME = 'counted_by_kind') = 0,
  'ALTER TABLE cell_count
    ADD COLUMN counted_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '''' AFTER counted_by',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
