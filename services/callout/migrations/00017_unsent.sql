-- Notices that the notification service did not accept are sent again once it does.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'callout_statement' AND INDEX_NAME = 'ix_cs_not_sent') = 0,
  'ALTER TABLE callout_statement
    ADD KEY ix_cs_not_sent (not_sent, lab_id)',
  'DO 0');
PREPARE add_keys FROM @statement;
EXECUTE add_keys;
DEALLOCATE PREPARE add_keys;
