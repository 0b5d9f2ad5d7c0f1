-- What earlier judgements of a report decided once: which called values everybody was told to be wrong, and which critical
-- values need no call by the laboratory's policy.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'callout_evaluation' AND COLUMN_NAME = 'memory') = 0,
  'ALTER TABLE callout_evaluation ADD COLUMN memory JSON NULL',
  'DO 0');
PREPARE add_column FROM @statement;
EXECUTE add_column;
DEALLOCATE PREPARE add_column;

-- +goose Down
ALTER TABLE callout_evaluation DROP COLUMN memory;
