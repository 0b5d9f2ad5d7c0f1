-- Which provider sends what, read at start and on change. A new table: no lock on anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS tq_provider (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  channel VARCHAR(16) NOT NULL,
  task_type SMALLINT NULL,
  country_code SMALLINT NULL,
  provider VARCHAR(64) NOT NULL,
  position SMALLINT NOT NULL DEFAULT 0,
  settings JSON NOT NULL,
  is_disabled TINYINT NOT NULL DEFAULT 0,
  KEY ix_tqp (channel, task_type, country_code, position)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE tq_provider;
