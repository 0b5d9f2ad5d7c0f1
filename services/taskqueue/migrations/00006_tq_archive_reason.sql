-- An archived job keeps the word that tells why it failed. Older processes insert without the column. The statement is
-- made to run again after a crash between it and the note that it ran; MySQL has no ADD COLUMN IF NOT EXISTS.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tq_archive' AND COLUMN_NAME = 'reason') = 0,
  'ALTER TABLE tq_archive ADD COLUMN reason VARCHAR(64) NULL',
  'DO 0');
PREPARE add_column FROM @statement;
EXECUTE add_column;
DEALLOCATE PREPARE add_column;

-- +goose Down
ALTER TABLE tq_archive DROP COLUMN reason;
