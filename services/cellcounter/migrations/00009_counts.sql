-- A stored count is replaced only by someone who saw it: version grows with each replacement.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'cell_count' AND COLUMN_NAME = 'version') = 0,
  'ALTER TABLE cell_count
    ADD COLUMN version BIGINT NOT NULL DEFAULT 1',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;

-- Nucleated red cells are no white cells and are counted separately unless a laboratory chooses otherwise. Version 1.0.0 stored the
-- opposite for every mapping without the field, so a choice cannot be recognized. A laboratory that wants them in the total saves
-- that once more.
UPDATE cell_counter_mappings m JOIN cells c ON c.id = m.cell_id SET m.include_in_total = 0 WHERE c.is_nucleated_red <> 0;
