-- Which senders the tasks of a laboratory may name. A new table: no lock on anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS tq_sender (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NULL,
  channel VARCHAR(16) NOT NULL,
  sender VARCHAR(255) NOT NULL,
  is_disabled TINYINT NOT NULL DEFAULT 0,
  KEY ix_tqs (lab_id, channel)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE tq_sender;
