-- Tables of services/billsplit. Delete this file when the service's own migrations make them.

CREATE TABLE IF NOT EXISTS `lab_bill_counter` (       -- owner: bill-split; row-locked allocator of labBillId
  `lab_id` INT NOT NULL PRIMARY KEY,
  `last_lab_bill_id` INT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `bill_split_audit` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `parent_bill_id` BIGINT NOT NULL,
  `new_bill_id` BIGINT NOT NULL,
  `moved_billing_info_ids` JSON NOT NULL,
  `before_values` JSON NOT NULL,
  `after_parent_values` JSON NOT NULL,
  `after_new_values` JSON NOT NULL,
  `created_by` INT NULL,
  `created_at` BIGINT NOT NULL,
  UNIQUE KEY `uq_bsa_new` (`new_bill_id`),
  KEY `ix_bsa_parent` (`parent_bill_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `outbox_billsplit` (
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

CREATE TABLE IF NOT EXISTS `idempotency_billsplit` (
  `lab_id` INT NOT NULL,
  `key_hash` BINARY(32) NOT NULL,
  `request_hash` BINARY(32) NOT NULL,
  `status` SMALLINT NULL,                              -- NULL: in flight
  `response` MEDIUMBLOB NULL,
  `expires_at` BIGINT NOT NULL,
  PRIMARY KEY (`lab_id`,`key_hash`),
  KEY `ix_idem_expires` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
