-- What can be notified of. Rows are the platform's reference data.
-- +goose Up
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
