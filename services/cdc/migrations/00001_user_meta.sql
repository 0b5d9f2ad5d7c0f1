-- The projection that the search index follows: one row a patient. Here its ids, scope, identifiers and versions;
-- the person comes with 00003, so that a running pipeline can fill the large lists before. A new table:
-- no lock on anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS user_meta (
  user_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL DEFAULT 0,                     -- 0 only in a stub row (rev 0), which the syncer ignores
  former_lab_ids JSON NULL,                          -- laboratories that this patient left: routes to blank in the index
  branch_id INT NULL,                                -- the registration's own branch, organisation, collection centre;
  org_id INT NULL,                                   -- scope filters use the array columns below
  cc_id INT NULL,
  lab_patient_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
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

-- +goose Down
DROP TABLE user_meta;
