-- Reports whose call was suppressed are found by the call that justifies it.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.STATISTICS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'callout_statement' AND INDEX_NAME = 'ix_cs_because') = 0,
  'ALTER TABLE callout_statement
    ADD KEY ix_cs_because (because)',
  'DO 0');
PREPARE add_keys FROM @statement;
EXECUTE add_keys;
DEALLOCATE PREPARE add_keys;
