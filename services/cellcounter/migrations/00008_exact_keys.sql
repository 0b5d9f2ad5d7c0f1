-- Keys compare by exact folding: Caps Lock does not change a count, but o is not ö, which the collation of the column takes
-- for the same. Every statement may run again; MySQL has no ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'cell_counter_mappings' AND COLUMN_NAME = 'key_folded') = 0,
  'ALTER TABLE cell_counter_mappings
    ADD COLUMN key_folded VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
      GENERATED ALWAYS AS (LOWER(`key`)) STORED AFTER `key`,
    ADD UNIQUE KEY uq_ccm_folded (test_id, lab_scope, key_folded),
    DROP INDEX uq_ccm_key',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
