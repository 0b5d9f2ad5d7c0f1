-- The topics that each device token is subscribed to (topics), or about to be (pending_topics): the provider cannot list
-- them.
-- +goose Up
CREATE TABLE IF NOT EXISTS `FcmDevices` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `token` VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `lab_id` INT NOT NULL,
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
  UNIQUE KEY `uq_fcm_token` (`token`),
  KEY `ix_fcm_user` (`lab_id`,`lab_user_id`),
  KEY `ix_fcm_stale` (`last_activity`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
