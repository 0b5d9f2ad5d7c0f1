-- Files that are being stored and that no revision names yet. The row is written before the first file and deleted in
-- the transaction that links them, so whatever a crash leaves in the file store is found here. abandoned = 1 makes the
-- link impossible: from then on the files may be deleted.
-- +goose Up
CREATE TABLE IF NOT EXISTS external_edit_upload (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  session_id INT NOT NULL,
  revision INT NOT NULL,
  word_key VARCHAR(512) NOT NULL,
  pdf_key VARCHAR(512) NOT NULL,
  abandoned TINYINT NOT NULL DEFAULT 0,
  started_at BIGINT NOT NULL,
  KEY ix_eeu_started (started_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
