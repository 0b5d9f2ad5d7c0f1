-- A table that an earlier release made, in a migration of the service's own, becomes as the one of 00001: its indexes,
-- and the column with the trace. Each statement is made to run again after a crash between it and the note that it ran;
-- MySQL has neither ADD KEY IF NOT EXISTS nor ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'outbox_service' AND INDEX_NAME = 'ix_outbox_kind') = 0,
  'ALTER TABLE outbox_service ADD KEY ix_outbox_kind (kind, available_at, id), ADD KEY ix_outbox_order (aggregate, available_at, id), DROP KEY ix_outbox_available',
  'DO 0');
PREPARE change_indexes FROM @statement;
EXECUTE change_indexes;
DEALLOCATE PREPARE change_indexes;

SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'outbox_service' AND COLUMN_NAME = 'traceparent') = 0,
  'ALTER TABLE outbox_service ADD COLUMN traceparent VARCHAR(55) NOT NULL DEFAULT ''''',
  'DO 0');
PREPARE add_column FROM @statement;
EXECUTE add_column;
DEALLOCATE PREPARE add_column;
