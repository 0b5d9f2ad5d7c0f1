-- The tables of version 1.0.0, the baseline. Its number follows those of the revisions before it, so that a database that has
-- all of them is at the baseline already.
-- +goose Up
-- The types of notifications: reference data of the platform.
CREATE TABLE IF NOT EXISTS `NotificationTypesMaster` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `category` VARCHAR(64) NOT NULL,
  `name` VARCHAR(128) NOT NULL,
  `description` VARCHAR(512) NOT NULL DEFAULT '',
  `user_category` VARCHAR(32) NOT NULL,
  `default_message_params` JSON NOT NULL,
  `order` INT NOT NULL DEFAULT 0,
  `is_mandatory` TINYINT NOT NULL DEFAULT 0,
  `is_active` TINYINT NOT NULL DEFAULT 1
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The two types of the interface document. Titles and bodies are shown on lock screens, so they name no patient. An installation
-- that has worded its own keeps it.
INSERT IGNORE INTO NotificationTypesMaster (id, category, name, description, user_category, default_message_params, `order`) VALUES
  (1, 'report', 'organisation_report_ready', 'A report of the organisation is ready', 'org', '{"title":"Report ready","body":"A report of your organisation is ready."}', 1),
  (2, 'report', 'critical_report', 'A report has a critical result', 'org', '{"title":"Critical report","body":"A report has a critical result. Open it now."}', 2);

-- A laboratory's switch and wording of a type. Only what differs from the type is stored.
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

-- A lab user's switch of a type, below the laboratory's.
CREATE TABLE IF NOT EXISTS `UserNotificationPreferences` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `lab_user_id` INT NOT NULL,
  `notification_type_id` INT NOT NULL,
  `is_disabled` TINYINT NOT NULL DEFAULT 0,
  `updated_at` BIGINT NOT NULL,
  UNIQUE KEY `uq_unp` (`lab_user_id`,`notification_type_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Switches of logins that are not lab users: each login of an organisation has its own, named as in NotificationReadState.
CREATE TABLE IF NOT EXISTS LoginNotificationPreferences (
  lab_id INT NOT NULL,
  user_type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id INT NOT NULL,
  notification_type_id INT NOT NULL,
  is_disabled TINYINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (lab_id, user_type, user_id, notification_type_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The inbox. lab_user_id and doctor_id are NULL when everyone of the organisation or laboratory is meant.
CREATE TABLE IF NOT EXISTS `Notifications` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `org_id` INT NULL,
  `lab_user_id` INT NULL,
  `doctor_id` INT NULL,
  `notification_type_id` INT NOT NULL,
  `message` JSON NOT NULL,
  `context` JSON NULL,
  `topic` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  `dedupe_key` VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  `created_at` INT NOT NULL,
  UNIQUE KEY `uq_notif_dedupe` (`dedupe_key`),
  KEY `ix_notif_lab` (`lab_id`,`created_at`,`id`),
  KEY `ix_notif_user` (`lab_id`,`lab_user_id`,`created_at`,`id`),
  KEY `ix_notif_doctor` (`lab_id`,`doctor_id`,`created_at`,`id`),
  KEY `ix_notif_scope` (`lab_id`,`org_id`,`created_at`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The history of actions on notifications.
CREATE TABLE IF NOT EXISTS `NotificationActivity` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `notification_id` BIGINT NOT NULL,
  `lab_id` INT NOT NULL,
  `user_type` VARCHAR(16) NOT NULL,
  `user_id` INT NOT NULL,
  `user_name` VARCHAR(255) NOT NULL DEFAULT '',
  `username` VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `activity` VARCHAR(16) NOT NULL,
  `activity_at` INT NOT NULL,
  KEY `ix_na_notif` (`notification_id`,`activity_at`),
  KEY `ix_na_window` (`lab_id`,`activity_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Which notifications each user has read.
CREATE TABLE IF NOT EXISTS `NotificationReadState` (
  `notification_id` BIGINT NOT NULL,
  `user_type` VARCHAR(16) NOT NULL,
  `user_id` INT NOT NULL,
  `read_on` INT NULL,
  PRIMARY KEY (`notification_id`,`user_type`,`user_id`),
  KEY `ix_nrs_user` (`user_type`,`user_id`,`read_on`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Up to when a login's inbox was counted, and what was unread there: the next count begins there. Times are epoch seconds. version
-- counts how often a notification was marked unread, which ends a count that began before.
CREATE TABLE IF NOT EXISTS NotificationReadMark (
  lab_id INT NOT NULL,
  user_type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id INT NOT NULL,
  from_at BIGINT NOT NULL DEFAULT 0,
  until_at BIGINT NOT NULL DEFAULT 0,
  unread JSON NULL,
  version BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (lab_id, user_type, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The topics that each device token is subscribed to (topics), or about to be (pending_topics): the provider cannot list them.
-- user_type is the kind of login, because users of different tables have the same numbers; a row without one belongs to no login
-- until its browser subscribes again. generation counts the changes of a row: a writer finds out that another wrote in between.
CREATE TABLE IF NOT EXISTS `FcmDevices` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `token` VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `lab_id` INT NOT NULL,
  `user_type` VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  `org_id` INT NULL,
  `lab_user_id` INT NULL,
  `doctor_id` INT NULL,
  `session_key` VARCHAR(128) NOT NULL DEFAULT '',
  `device_id` VARCHAR(190) NULL,
  `platform` VARCHAR(16) NULL,
  `topics` JSON NOT NULL,
  `pending_topics` JSON NULL,
  `last_activity` BIGINT NOT NULL,
  `created_at` BIGINT NOT NULL,
  `generation` BIGINT NOT NULL DEFAULT 0,
  UNIQUE KEY `uq_fcm_token` (`token`),
  KEY `ix_fcm_user` (`lab_id`,`lab_user_id`),
  KEY `ix_fcm_stale` (`last_activity`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
