CREATE TABLE `user_meta` (
  `user_id` BIGINT NOT NULL PRIMARY KEY,
  `lab_id` INT NOT NULL DEFAULT 0,
  `former_lab_ids` JSON NULL,
  `branch_id` INT NULL,
  `org_id` INT NULL,
  `cc_id` INT NULL,
  `lab_patient_id` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `full_name` VARCHAR(400) NOT NULL DEFAULT '',
  `contact` VARCHAR(20) NOT NULL DEFAULT '',
  `alternate_contact` VARCHAR(20) NOT NULL DEFAULT '',
  `email` VARCHAR(254) NOT NULL DEFAULT '',
  `gender` VARCHAR(16) NOT NULL DEFAULT '',
  `date_of_birth` DATE NULL,
  `age` VARCHAR(16) NOT NULL DEFAULT '',
  `passport_no` VARCHAR(64) NOT NULL DEFAULT '',
  `national_identity_number` VARCHAR(64) NOT NULL DEFAULT '',
  `bill_ids` JSON NULL,
  `lab_bill_ids` JSON NULL,
  `order_numbers` JSON NULL,
  `lab_report_ids` JSON NULL,
  `sample_ids` JSON NULL,
  `manual_sample_ids` JSON NULL,
  `lrf_ids` JSON NULL,
  `org_ids` JSON NULL,
  `branch_ids` JSON NULL,
  `cc_ids` JSON NULL,
  `last_bill_time` BIGINT NULL,
  `is_deleted` TINYINT NOT NULL DEFAULT 0,
  `rerun_report_ids` JSON NULL,
  `source_ts_ms` BIGINT NOT NULL DEFAULT 0,
  `rev` BIGINT NOT NULL DEFAULT 0,
  `updated_at` BIGINT NOT NULL DEFAULT 0,
  KEY `ix_um_lab` (`lab_id`,`user_id`),
  KEY `ix_um_updated` (`updated_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE `cdc_signal` (
  `id` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  `type` VARCHAR(32) NOT NULL,
  `data` VARCHAR(2048) NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE `cdc_heartbeat` (
  `id` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  `beat_at` BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE `cdc_progress` (
  `connector` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  `beat_at` BIGINT NOT NULL,
  `applied_at` BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE `cdc_cursor` (
  `name` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  `position` BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE `cdc_freshness` (
  `id` TINYINT NOT NULL PRIMARY KEY,
  `complete_at` BIGINT NOT NULL,
  `candidate_at` BIGINT NOT NULL,
  `candidate_applied_at` BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE `cdc_walk` (
  `name` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  `last_user_id` BIGINT NOT NULL,
  `mark` BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
