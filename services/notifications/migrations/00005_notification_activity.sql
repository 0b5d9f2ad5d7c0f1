-- Who did what with a notification, as history.
-- +goose Up
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
