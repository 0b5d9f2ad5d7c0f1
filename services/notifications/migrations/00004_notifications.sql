-- The inbox. lab_user_id and doctor_id are NULL when everybody of the organisation or laboratory is meant.
-- +goose Up
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
