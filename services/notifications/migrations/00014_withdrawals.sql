-- Notices that a service withdrew, by the idempotency key that they were sent with. found and was_read are the first answer, which a
-- repetition returns. A key without a notification is a tombstone: a notice that arrives under it later is not stored. reworded_at
-- (epoch seconds) is when the text in the inbox was replaced; open pages read the rows by it.
-- +goose Up
CREATE TABLE IF NOT EXISTS NotificationWithdrawals (
  dedupe_key VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  lab_id INT NOT NULL,
  notification_id BIGINT NULL,
  found TINYINT NULL,
  was_read TINYINT NULL,
  withdrawn_at INT NOT NULL,
  reworded_at INT NULL,
  PRIMARY KEY (dedupe_key, reason),
  KEY ix_nw_reworded (lab_id, reworded_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
