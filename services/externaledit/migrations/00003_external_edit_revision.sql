-- One row a save: history, the check for repeated saves, restore. A restored revision names the one it repeats and
-- shares its files.
-- +goose Up
CREATE TABLE IF NOT EXISTS external_edit_revision (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  session_id INT NOT NULL,
  revision INT NOT NULL,
  word_s3_path VARCHAR(1024) NOT NULL,
  pdf_s3_path VARCHAR(1024) NOT NULL,
  word_sha256 CHAR(64) NOT NULL,
  pdf_sha256 CHAR(64) NOT NULL,
  word_size INT NOT NULL,
  pdf_size INT NOT NULL,
  uploaded_by INT NOT NULL,
  uploaded_by_name VARCHAR(255) NOT NULL DEFAULT '',
  uploaded_at BIGINT NOT NULL,
  restored_from BIGINT NULL,
  UNIQUE KEY uq_eer (session_id, revision)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
