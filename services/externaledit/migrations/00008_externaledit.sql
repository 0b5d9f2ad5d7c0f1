-- The tables of version 1.0.0, the baseline. Its number follows those of the revisions before it, so that a database that has
-- all of them is at the baseline already.
-- +goose Up
-- Word templates. lab_id NULL is a template of the platform, which every laboratory may use.
CREATE TABLE IF NOT EXISTS report_word_template (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NULL,
  test_id INT NULL,
  name VARCHAR(255) NOT NULL,
  word_s3_filepath VARCHAR(1024) NOT NULL,
  is_disabled TINYINT NOT NULL DEFAULT 0,
  KEY ix_rwt_lab (lab_id, test_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- active_report_id is NULL once a session ended, so the unique index admits one active session of a report. revision is the save
-- whose files are linked; reserved is the highest number that was given to an upload. author_is_doctor: the author's id is of the
-- table of doctors. author_listed: the platform's list of users gave the author the permission when the session began, so its
-- absence later is a withdrawal.
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
  author_is_doctor TINYINT NOT NULL DEFAULT 0,
  author_listed TINYINT NOT NULL DEFAULT 0,
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

-- One row a save: history, the check for repeated saves, restore. A restored revision names the one it repeats and shares its files.
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
  uploaded_by_doctor TINYINT NOT NULL DEFAULT 0,
  uploaded_at BIGINT NOT NULL,
  restored_from BIGINT NULL,
  UNIQUE KEY uq_eer (session_id, revision)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Files that are being stored and that no revision names yet. The row is written before the first file and deleted in the
-- transaction that links them, so files that a crash leaves in the file store are found here. abandoned = 1 makes the link
-- impossible: from then on the files may be deleted.
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
