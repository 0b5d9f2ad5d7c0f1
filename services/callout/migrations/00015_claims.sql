-- A person who calls about a waiting report marks it, so that no one else calls at the same time. The mark belongs to the wait and ends
-- with it. Times are epoch milliseconds of the database's clock.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'callout_episode' AND COLUMN_NAME = 'claimed_by') = 0,
  'ALTER TABLE callout_episode
    ADD COLUMN claimed_by VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NULL,
    ADD COLUMN claimed_name VARCHAR(255) NULL,
    ADD COLUMN claimed_at BIGINT NULL,
    ADD COLUMN claimed_until BIGINT NULL',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
