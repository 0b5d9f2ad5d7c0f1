-- The raw count of one observer on one report. What was counted is kept, not only what was reported: a difference of
-- two observers is judged on raw counts.
-- +goose Up
CREATE TABLE IF NOT EXISTS cell_count (
  lab_id INT NOT NULL,
  lab_report_id BIGINT NOT NULL,
  observer TINYINT NOT NULL,
  test_id INT NOT NULL,
  counts JSON NOT NULL,
  counted_by BIGINT NOT NULL,
  counted_by_name VARCHAR(255) NOT NULL DEFAULT '',
  counted_at BIGINT NOT NULL,
  PRIMARY KEY (lab_id, lab_report_id, test_id, observer)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
