-- Finished and dead jobs, written in batches, replaced only by a newer end; live jobs are in Redis. A new table: no
-- lock on anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS tq_archive (
  job_id CHAR(29) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  lab_id INT NULL,
  caller VARCHAR(64) NOT NULL DEFAULT '',
  task SMALLINT NOT NULL,
  task_type SMALLINT NOT NULL,
  priority TINYINT NOT NULL,
  retry TINYINT NOT NULL,
  status VARCHAR(16) NOT NULL,
  attempts SMALLINT NOT NULL,
  attempts_detail JSON NULL,
  log_tag VARCHAR(128) NULL,
  result JSON NULL,
  error VARCHAR(1024) NULL,
  created_at BIGINT NOT NULL,
  scheduled_at BIGINT NULL,
  started_at BIGINT NULL,
  ended_at BIGINT NOT NULL,
  KEY ix_tqa_ended (ended_at),
  KEY ix_tqa_tag (log_tag, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE tq_archive;
