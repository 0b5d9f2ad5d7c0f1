-- Which cell is the nucleated red cell: the white cell count is corrected by it and by no other cell that is counted apart.
-- Every statement may run again; MySQL has no ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'cells' AND COLUMN_NAME = 'is_nucleated_red') = 0,
  'ALTER TABLE cells ADD COLUMN is_nucleated_red TINYINT NOT NULL DEFAULT 0 AFTER is_disable',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
UPDATE cells SET is_nucleated_red = 1 WHERE name = 'NRBC' AND is_nucleated_red = 0;
