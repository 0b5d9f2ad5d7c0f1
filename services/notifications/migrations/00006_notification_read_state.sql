-- Who has read what, as it is now.
-- +goose Up
CREATE TABLE IF NOT EXISTS `NotificationReadState` (
  `notification_id` BIGINT NOT NULL,
  `user_type` VARCHAR(16) NOT NULL,
  `user_id` INT NOT NULL,
  `read_on` INT NULL,
  PRIMARY KEY (`notification_id`,`user_type`,`user_id`),
  KEY `ix_nrs_user` (`user_type`,`user_id`,`read_on`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
