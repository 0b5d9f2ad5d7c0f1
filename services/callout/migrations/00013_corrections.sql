-- Which called values turned out wrong, and when those who were told of them were told of that. Times are epoch
-- milliseconds.
-- +goose Up
CREATE TABLE IF NOT EXISTS callout_correction (
  lab_report_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL,
  told_at BIGINT NOT NULL,
  parameters JSON NULL,
  KEY ix_cco_lab (lab_id, told_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE callout_correction;
