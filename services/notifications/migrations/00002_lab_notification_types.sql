-- A laboratory's switch and wording of a type. Only what differs from the type is stored.
-- +goose Up
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
