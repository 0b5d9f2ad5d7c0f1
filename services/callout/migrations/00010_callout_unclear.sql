-- Reports with a value that has critical limits and cannot be judged, from when on. The value itself stays where it is.
-- +goose Up
CREATE TABLE IF NOT EXISTS callout_unclear (
  lab_report_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL,
  since BIGINT NOT NULL,
  KEY ix_cu_lab (lab_id, since)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE callout_unclear;
