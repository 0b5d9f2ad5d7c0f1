-- Up to when the sweeper has seen every change of a report: an absence of any length is made up for.
-- +goose Up
CREATE TABLE IF NOT EXISTS callout_sweep (
  id TINYINT NOT NULL PRIMARY KEY,
  swept_until DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE callout_sweep;
