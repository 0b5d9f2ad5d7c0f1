-- Messages of one kind are found without a look at those of a kind whose receiver is away, and the earlier ones of
-- an aggregate without a scan. Indexes only: rows keep. The statement is made to run again after a crash between it
-- and the note that it ran, which DDL cannot share a transaction with; MySQL has no ADD KEY IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'outbox_rerun' AND INDEX_NAME = 'ix_outbox_kind') = 0,
  'ALTER TABLE outbox_rerun ADD KEY ix_outbox_kind (kind, available_at, id), ADD KEY ix_outbox_order (aggregate, available_at, id), DROP KEY ix_outbox_available',
  'DO 0');
PREPARE change_indexes FROM @statement;
EXECUTE change_indexes;
DEALLOCATE PREPARE change_indexes;

-- +goose Down
ALTER TABLE outbox_rerun ADD KEY ix_outbox_available (available_at, id), DROP KEY ix_outbox_kind, DROP KEY ix_outbox_order;
