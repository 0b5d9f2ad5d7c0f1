-- The tables of version 1.0.0, the baseline. Its number follows those of the revisions before it, so that a database that has
-- all of them is at the baseline already.
-- +goose Up
-- The projection that the search index follows: one row a patient.
CREATE TABLE IF NOT EXISTS user_meta (
  user_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL DEFAULT 0,                     -- 0 only in a stub row (rev 0), which the syncer ignores
  former_lab_ids JSON NULL,                          -- laboratories that this patient left: routes to blank in the index
  branch_id INT NULL,                                -- the registration's own branch, organisation, collection centre;
  org_id INT NULL,                                   -- scope filters use the array columns below
  cc_id INT NULL,
  lab_patient_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  full_name VARCHAR(400) NOT NULL DEFAULT '',            -- its presence ends the migration phase
  contact VARCHAR(20) NOT NULL DEFAULT '',
  alternate_contact VARCHAR(20) NOT NULL DEFAULT '',
  email VARCHAR(254) NOT NULL DEFAULT '',
  gender VARCHAR(16) NOT NULL DEFAULT '',
  date_of_birth DATE NULL,
  age VARCHAR(16) NOT NULL DEFAULT '',
  passport_no VARCHAR(64) NOT NULL DEFAULT '',
  national_identity_number VARCHAR(64) NOT NULL DEFAULT '',
  bill_ids JSON NULL,
  lab_bill_ids JSON NULL,
  order_numbers JSON NULL,
  lab_report_ids JSON NULL,
  sample_ids JSON NULL,
  manual_sample_ids JSON NULL,
  lrf_ids JSON NULL,
  org_ids JSON NULL,
  branch_ids JSON NULL,
  cc_ids JSON NULL,
  last_bill_time BIGINT NULL,
  is_deleted TINYINT NOT NULL DEFAULT 0,
  rerun_report_ids JSON NULL,                        -- reports with an open rerun
  source_ts_ms BIGINT NOT NULL DEFAULT 0,
  rev BIGINT NOT NULL DEFAULT 0,                     -- max(old + 1, now in microseconds); external version of the index document
  updated_at BIGINT NOT NULL DEFAULT 0,
  KEY ix_um_lab (lab_id, user_id),
  KEY ix_um_updated (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- A user_meta without full_name is in the migration phase (interface document): it gets the person here, which ends the phase. A
-- new table has these columns. MySQL has no ADD COLUMN IF NOT EXISTS.
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'user_meta' AND COLUMN_NAME = 'full_name') = 0,
  'ALTER TABLE user_meta
    ADD COLUMN full_name VARCHAR(400) NOT NULL DEFAULT '''' AFTER lab_patient_id,
    ADD COLUMN contact VARCHAR(20) NOT NULL DEFAULT '''' AFTER full_name,
    ADD COLUMN alternate_contact VARCHAR(20) NOT NULL DEFAULT '''' AFTER contact,
    ADD COLUMN email VARCHAR(254) NOT NULL DEFAULT '''' AFTER alternate_contact,
    ADD COLUMN gender VARCHAR(16) NOT NULL DEFAULT '''' AFTER email,
    ADD COLUMN date_of_birth DATE NULL AFTER gender,
    ADD COLUMN age VARCHAR(16) NOT NULL DEFAULT '''' AFTER date_of_birth,
    ADD COLUMN passport_no VARCHAR(64) NOT NULL DEFAULT '''' AFTER age,
    ADD COLUMN national_identity_number VARCHAR(64) NOT NULL DEFAULT '''' AFTER passport_no',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;

-- What the connectors and the consumer say to each other through the database. The connectors read cdc_signal by position: exactly
-- three columns, in this order, for ever.
CREATE TABLE IF NOT EXISTS cdc_signal (
  id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  type VARCHAR(32) NOT NULL,
  data VARCHAR(2048) NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- One row per connector, touched on an interval; captured, so that a quiet night does not look like an outage.
CREATE TABLE IF NOT EXISTS cdc_heartbeat (
  id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  beat_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- How far the consumer applied each connector's beat; not captured.
CREATE TABLE IF NOT EXISTS cdc_progress (
  connector VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  beat_at BIGINT NOT NULL,
  applied_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The cursor of each loop that goes through all rows, whichever process runs it; not captured.
CREATE TABLE IF NOT EXISTS cdc_cursor (
  name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  position BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Up to when everything is searchable, over both hops of the pipeline; not captured.
CREATE TABLE IF NOT EXISTS cdc_freshness (
  id TINYINT NOT NULL PRIMARY KEY,
  complete_at BIGINT NOT NULL,
  candidate_at BIGINT NOT NULL,
  candidate_applied_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- How far the full resync has come; not captured. A row named jump:<connector> is for a connector that begins to read at a new
-- position and leaves out what came before it (last_user_id 0: its offset is to be forgotten, 1: it was; mark: when, in
-- milliseconds): once its first heartbeat from there has arrived, every patient is computed again. Connectors take no snapshot of
-- rows, so a new platform begins with these.
CREATE TABLE IF NOT EXISTS cdc_walk (
  name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  last_user_id BIGINT NOT NULL,
  mark BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

INSERT IGNORE INTO cdc_walk (name, last_user_id, mark) VALUES ('jump:source-existing', 1, 0), ('jump:source-projection', 1, 0);
