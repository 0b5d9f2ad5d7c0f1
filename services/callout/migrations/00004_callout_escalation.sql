-- The clock of each bill with open callouts. The row, not the task queue's job, says whether a deadline passed: the job is
-- only what wakes the service. Times are epoch milliseconds.
-- +goose Up
CREATE TABLE IF NOT EXISTS callout_escalation (
  bill_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL,
  is_open TINYINT NOT NULL DEFAULT 0,
  started_at BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT NULL,
  level INT NOT NULL DEFAULT 0,
  job_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  KEY ix_esc_due (is_open, due_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE callout_escalation;
