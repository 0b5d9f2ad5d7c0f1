-- Tables of services/notifications. Delete this file when the service's own migrations make them.

CREATE TABLE IF NOT EXISTS `NotificationTypesMaster` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `category` VARCHAR(64) NOT NULL,
  `name` VARCHAR(128) NOT NULL,
  `description` VARCHAR(512) NOT NULL DEFAULT '',
  `user_category` VARCHAR(32) NOT NULL,                -- org | lab_user | doctor | ...
  `default_message_params` JSON NOT NULL,
  `order` INT NOT NULL DEFAULT 0,
  `is_mandatory` TINYINT NOT NULL DEFAULT 0,           -- extension: cannot be muted (critical report)
  `is_active` TINYINT NOT NULL DEFAULT 1
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `LabNotificationTypes` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `notification_type_id` INT NOT NULL,
  `is_disabled` TINYINT NOT NULL DEFAULT 0,
  `message_params` JSON NULL,
  `updated_by` INT NULL,
  `updated_at` BIGINT NOT NULL,
  UNIQUE KEY `uq_lnt` (`lab_id`,`notification_type_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `UserNotificationPreferences` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `lab_user_id` INT NOT NULL,
  `notification_type_id` INT NOT NULL,
  `is_disabled` TINYINT NOT NULL DEFAULT 0,
  `updated_at` BIGINT NOT NULL,
  UNIQUE KEY `uq_unp` (`lab_user_id`,`notification_type_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `Notifications` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `org_id` INT NULL,
  `lab_user_id` INT NULL,                              -- NULL = everyone matching org/lab + type
  `doctor_id` INT NULL,
  `notification_type_id` INT NOT NULL,
  `message` JSON NOT NULL,                             -- title, body, data
  `context` JSON NULL,
  `topic` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  `dedupe_key` VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  `created_at` INT NOT NULL,                           -- epoch seconds (API unit)
  UNIQUE KEY `uq_notif_dedupe` (`dedupe_key`),
  KEY `ix_notif_scope` (`lab_id`,`org_id`,`created_at`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `NotificationActivity` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `notification_id` BIGINT NOT NULL,
  `lab_id` INT NOT NULL,
  `user_type` VARCHAR(16) NOT NULL,                    -- lab_user | doctor | org | support
  `user_id` INT NOT NULL,
  `user_name` VARCHAR(255) NOT NULL DEFAULT '',
  `username` VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `activity` VARCHAR(16) NOT NULL,                     -- read | unread | delivered | clicked
  `activity_at` INT NOT NULL,
  KEY `ix_na_notif` (`notification_id`,`activity_at`),
  KEY `ix_na_window` (`lab_id`,`activity_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `NotificationReadState` (
  `notification_id` BIGINT NOT NULL,
  `user_type` VARCHAR(16) NOT NULL,
  `user_id` INT NOT NULL,
  `read_on` INT NULL,
  PRIMARY KEY (`notification_id`,`user_type`,`user_id`),
  KEY `ix_nrs_user` (`user_type`,`user_id`,`read_on`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `FcmDevices` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `token` VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `lab_id` INT NOT NULL,
  `org_id` INT NULL,
  `lab_user_id` INT NULL,
  `doctor_id` INT NULL,
  `session_key` VARCHAR(128) NOT NULL DEFAULT '',
  `device_id` VARCHAR(190) NULL,
  `platform` VARCHAR(16) NULL,                         -- web | android | ios
  `topics` JSON NOT NULL,
  `last_activity` BIGINT NOT NULL,
  `created_at` BIGINT NOT NULL,
  UNIQUE KEY `uq_fcm_token` (`token`),
  KEY `ix_fcm_user` (`lab_id`,`lab_user_id`),
  KEY `ix_fcm_stale` (`last_activity`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `outbox_notifications` (
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
