-- Tables of services/externaledit. Delete this file when the service's own migrations make them.

CREATE TABLE IF NOT EXISTS `report_word_template` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NULL,
  `test_id` INT NULL,
  `name` VARCHAR(255) NOT NULL,
  `word_s3_filepath` VARCHAR(1024) NOT NULL,
  `is_disabled` TINYINT NOT NULL DEFAULT 0,
  KEY `ix_rwt_lab` (`lab_id`,`test_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `external_edit_session` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `lab_report_id` BIGINT NOT NULL,
  `template_id` INT NOT NULL,
  `template_path` VARCHAR(1024) NOT NULL,
  `word_file_path` VARCHAR(1024) NOT NULL DEFAULT '',
  `pdf_file_path` VARCHAR(1024) NOT NULL DEFAULT '',
  `token_id` CHAR(36) NOT NULL,                        -- jti; the token itself is re-minted, never stored
  `author_id` INT NOT NULL,
  `author_name` VARCHAR(255) NOT NULL DEFAULT '',
  `is_active` TINYINT NOT NULL DEFAULT 1,
  `active_report_id` BIGINT GENERATED ALWAYS AS (IF(`is_active` = 1, `lab_report_id`, NULL)) STORED,
  `revision` INT NOT NULL DEFAULT 0,
  `created_at` BIGINT NOT NULL,
  `updated_at` BIGINT NOT NULL,
  `expires_at` BIGINT NOT NULL,
  `ended_at` BIGINT NULL,
  `end_reason` VARCHAR(32) NULL,                       -- author | expired | taken_over | admin
  UNIQUE KEY `uq_ees_active` (`active_report_id`),
  KEY `ix_ees_report` (`lab_report_id`,`id`),
  KEY `ix_ees_expiry` (`is_active`,`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `external_edit_revision` ( -- one row per save: history, dedupe, restore
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `session_id` INT NOT NULL,
  `revision` INT NOT NULL,
  `word_s3_path` VARCHAR(1024) NOT NULL,
  `pdf_s3_path` VARCHAR(1024) NOT NULL,
  `word_sha256` CHAR(64) NOT NULL,
  `pdf_sha256` CHAR(64) NOT NULL,
  `word_size` INT NOT NULL,
  `pdf_size` INT NOT NULL,
  `uploaded_by` INT NOT NULL,
  `uploaded_at` BIGINT NOT NULL,
  UNIQUE KEY `uq_eer` (`session_id`,`revision`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `outbox_externaledit` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `aggregate` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `kind` VARCHAR(48) NOT NULL,
  `payload` MEDIUMBLOB NOT NULL,                       -- protobuf
  `dedupe_key` VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  `created_at` BIGINT NOT NULL,
  `available_at` BIGINT NOT NULL,
  `attempts` INT NOT NULL DEFAULT 0,
  `last_error` VARCHAR(512) NOT NULL DEFAULT '',
  UNIQUE KEY `uq_outbox_dedupe` (`dedupe_key`),
  KEY `ix_outbox_available` (`available_at`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `idempotency_externaledit` (
  `lab_id` INT NOT NULL,
  `key_hash` BINARY(32) NOT NULL,
  `request_hash` BINARY(32) NOT NULL,
  `status` SMALLINT NULL,                              -- NULL: in flight
  `response` MEDIUMBLOB NULL,
  `expires_at` BIGINT NOT NULL,
  PRIMARY KEY (`lab_id`,`key_hash`),
  KEY `ix_idem_expires` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
