-- A count is of one sample: after another one was taken, counts of the previous one are not compared with it.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'cell_count' AND COLUMN_NAME = 'sample_id') = 0,
  'ALTER TABLE cell_count
    ADD COLUMN sample_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
