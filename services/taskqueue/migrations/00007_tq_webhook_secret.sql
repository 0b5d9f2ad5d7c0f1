-- Which secrets sign the webhooks and callbacks of a receiver; the secrets themselves are files. A new table: no lock on
-- anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS tq_webhook_secret (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NULL,
  origin VARCHAR(255) NOT NULL,
  secret VARCHAR(128) NOT NULL,
  is_disabled TINYINT NOT NULL DEFAULT 0,
  KEY ix_tqws (origin, lab_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE tq_webhook_secret;
