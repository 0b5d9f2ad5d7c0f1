-- A message carries the trace of the change that caused it. Older processes insert without the column. The statement is
-- made to run again after a crash between it and the note that it ran; MySQL has no ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'outbox_rerun' AND COLUMN_NAME = 'traceparent') = 0,
  'ALTER TABLE outbox_rerun ADD COLUMN traceparent VARCHAR(55) NOT NULL DEFAULT ''''',
  'DO 0');
PREPARE add_column FROM @statement;
EXECUTE add_column;
DEALLOCATE PREPARE add_column;

-- +goose Down
ALTER TABLE outbox_rerun DROP COLUMN traceparent;
