-- The state of a report's row when its values were judged last, by which the sweeper finds reports that nobody judged.
-- +goose Up
CREATE TABLE IF NOT EXISTS callout_evaluation (
  lab_report_id BIGINT NOT NULL PRIMARY KEY,
  report_updated_on DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE callout_evaluation;
