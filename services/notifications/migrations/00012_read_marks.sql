-- Up to where a login's inbox was counted, and what was unread there: counting again looks at what came afterwards. Times are
-- epoch seconds. version counts what was marked unread again, which ends a count that began before.
-- +goose Up
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

-- +goose Down
DROP TABLE NotificationReadMark;
