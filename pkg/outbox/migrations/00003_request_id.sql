-- The id of the request that caused the message, for the logs of those who handle it. The statement may run again after a
-- crash between it and the note that it ran.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'outbox_service' AND COLUMN_NAME = 'request_id') = 0,
  'ALTER TABLE outbox_service ADD COLUMN request_id VARCHAR(64) NOT NULL DEFAULT ''''',
  'DO 0');
PREPARE add_column FROM @statement;
EXECUTE add_column;
DEALLOCATE PREPARE add_column;
