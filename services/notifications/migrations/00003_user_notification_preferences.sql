-- A user's switch of a type, under the laboratory's.
-- +goose Up
CREATE TABLE IF NOT EXISTS `UserNotificationPreferences` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `lab_user_id` INT NOT NULL,
  `notification_type_id` INT NOT NULL,
  `is_disabled` TINYINT NOT NULL DEFAULT 0,
  `updated_at` BIGINT NOT NULL,
  UNIQUE KEY `uq_unp` (`lab_user_id`,`notification_type_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
