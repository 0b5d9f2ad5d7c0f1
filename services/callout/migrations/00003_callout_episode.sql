-- When a report began and ended to wait for a callout, of which the unique key allows one wait at a time: the times to
-- callout, and what is overdue. Times are epoch milliseconds.
-- +goose Up
CREATE TABLE IF NOT EXISTS callout_episode (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  bill_id BIGINT NOT NULL,
  lab_report_id BIGINT NOT NULL,
  open_report_id BIGINT GENERATED ALWAYS AS (IF(closed_at IS NULL, lab_report_id, NULL)) STORED,
  detected_at BIGINT NOT NULL,
  closed_at BIGINT NULL,
  closed_by VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  UNIQUE KEY uq_ce_open (open_report_id),
  KEY ix_ce_lab (lab_id, detected_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE callout_episode;
