-- Switches of logins that are no lab users: each login of an organisation has its own, named as in NotificationReadState.
-- UserNotificationPreferences knows a number alone, and is read by it.
-- +goose Up
CREATE TABLE IF NOT EXISTS LoginNotificationPreferences (
  lab_id INT NOT NULL,
  user_type VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  user_id INT NOT NULL,
  notification_type_id INT NOT NULL,
  is_disabled TINYINT NOT NULL DEFAULT 0,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (lab_id, user_type, user_id, notification_type_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE LoginNotificationPreferences;
