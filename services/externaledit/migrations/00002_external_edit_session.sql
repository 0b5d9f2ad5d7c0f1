-- active_report_id is NULL once a session ended, so the unique index admits one active session of a report.
-- revision is the save whose files are linked; reserved is the highest number that was given to an upload.
-- +goose Up
CREATE TABLE IF NOT EXISTS external_edit_session (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  lab_report_id BIGINT NOT NULL,
  template_id INT NOT NULL,
  template_path VARCHAR(1024) NOT NULL,
  word_file_path VARCHAR(1024) NOT NULL DEFAULT '',
  pdf_file_path VARCHAR(1024) NOT NULL DEFAULT '',
  token_id CHAR(36) NOT NULL,
  author_id INT NOT NULL,
  author_name VARCHAR(255) NOT NULL DEFAULT '',
  is_active TINYINT NOT NULL DEFAULT 1,
  active_report_id BIGINT GENERATED ALWAYS AS (IF(is_active = 1, lab_report_id, NULL)) STORED,
  revision INT NOT NULL DEFAULT 0,
  reserved INT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  saved_at BIGINT NULL,
  expires_at BIGINT NOT NULL,
  ended_at BIGINT NULL,
  end_reason VARCHAR(32) NULL,
  ended_by_name VARCHAR(255) NULL,
  UNIQUE KEY uq_ees_active (active_report_id),
  KEY ix_ees_report (lab_report_id, id),
  KEY ix_ees_expiry (is_active, expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
