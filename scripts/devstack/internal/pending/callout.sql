-- Tables of services/callout. Delete this file when the service's own migrations make them.

CREATE TABLE IF NOT EXISTS `CriticalCallout` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `bill_id` BIGINT NULL,
  `lab_report_id` BIGINT NULL,                         -- NULL + bill_id = draft
  `draft_bill_id` BIGINT GENERATED ALWAYS AS (IF(`lab_report_id` IS NULL, `bill_id`, NULL)) STORED,
  `org_id` INT NULL,
  `user_details_id` BIGINT NULL,
  `referral_doc_id` INT NULL,
  `performed_by_user_id` INT NULL,
  `performed_by_doctor_id` INT NULL,
  `recipients` JSON NULL,
  `critical_callout_comment` TEXT NULL,
  `critical_values_meta` JSON NULL,                    -- snapshot of communicated values
  `critical_callout_meta` JSON NULL,                   -- communication_methods, callout_for, read_back, outcome ...
  `created_on` DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  UNIQUE KEY `uq_cc_draft` (`draft_bill_id`),
  KEY `ix_cc_lab_report` (`lab_id`,`lab_report_id`,`id`),
  KEY `ix_cc_bill` (`bill_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `outbox_callout` (
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
