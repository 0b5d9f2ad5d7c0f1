-- The tables of version 1.0.0, the baseline. Its number follows those of the revisions before it, so that a database that has
-- all of them is at the baseline already.
-- +goose Up
-- Finished jobs and dead letters, written in batches; a row is replaced only by a newer end of the same job. Jobs that have not
-- ended are in Redis.
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
  reason VARCHAR(64) NULL, -- why the job failed, as a code
  KEY ix_tqa_ended (ended_at),
  KEY ix_tqa_tag (log_tag, created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The provider of each channel, read at start and on change.
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

-- The append-only ledger of WhatsApp consents.
CREATE TABLE IF NOT EXISTS whatsapp_consent_log (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  cache_key VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  type VARCHAR(32) NOT NULL,
  recipient_hash BINARY(32) NULL,
  category VARCHAR(32) NOT NULL DEFAULT '',
  source VARCHAR(64) NOT NULL DEFAULT '',
  actor VARCHAR(64) NOT NULL DEFAULT '',
  ip VARCHAR(45) NOT NULL DEFAULT '',
  user_agent VARCHAR(255) NOT NULL DEFAULT '',
  details JSON NOT NULL,
  created_at BIGINT NOT NULL,
  KEY ix_wcl_key (lab_id, cache_key, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The present WhatsApp consent of each recipient: the last row of the ledger, written in its transaction.
CREATE TABLE IF NOT EXISTS whatsapp_consent (
  lab_id INT NOT NULL,
  cache_key VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  type VARCHAR(32) NOT NULL,
  details JSON NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (lab_id, cache_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Dictionary mappings by laboratory, 0 for those of internal services; the newest accepted mapping of a keyword wins.
CREATE TABLE IF NOT EXISTS dictionary_mapping (
  lab_id INT NOT NULL,
  keyword VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  data JSON NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (lab_id, keyword)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Which secrets sign the webhooks and callbacks of a receiver; the secrets themselves are files.
CREATE TABLE IF NOT EXISTS tq_webhook_secret (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NULL,
  origin VARCHAR(255) NOT NULL,
  secret VARCHAR(128) NOT NULL,
  is_disabled TINYINT NOT NULL DEFAULT 0,
  KEY ix_tqws (origin, lab_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Which senders the tasks of a laboratory may name.
CREATE TABLE IF NOT EXISTS tq_sender (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NULL,
  channel VARCHAR(16) NOT NULL,
  sender VARCHAR(255) NOT NULL,
  is_disabled TINYINT NOT NULL DEFAULT 0,
  KEY ix_tqs (lab_id, channel)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
