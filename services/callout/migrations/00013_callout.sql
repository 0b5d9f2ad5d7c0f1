-- The tables of version 1.0.0, the baseline. Its number follows those of the revisions before it, so that a database that has
-- all of them is at the baseline already.
-- +goose Up
-- Calls and attempts about critical results. Rows with a report are the audit and are only ever added; the row of a bill without
-- a report is its draft, of which the unique key allows one.
CREATE TABLE IF NOT EXISTS CriticalCallout (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  bill_id BIGINT NULL,
  lab_report_id BIGINT NULL,
  draft_bill_id BIGINT GENERATED ALWAYS AS (IF(lab_report_id IS NULL, bill_id, NULL)) STORED,
  org_id INT NULL,
  user_details_id BIGINT NULL,
  referral_doc_id INT NULL,
  performed_by_user_id INT NULL,
  performed_by_doctor_id INT NULL,
  recipients JSON NULL,
  critical_callout_comment TEXT NULL,
  critical_values_meta JSON NULL,
  critical_callout_meta JSON NULL,
  created_on DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  UNIQUE KEY uq_cc_draft (draft_bill_id),
  KEY ix_cc_lab_report (lab_id, lab_report_id, id),
  KEY ix_cc_bill (bill_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- When a report began and ended to wait for a callout; the unique key allows one open wait. The deadline is the report's own: a
-- later result of a bill is escalated independently of an earlier one. parameters are what was critical, and decide when the wait
-- ends; adopted: another program set the report to wait; notices_off: no notice was sent. Times are epoch milliseconds.
CREATE TABLE IF NOT EXISTS callout_episode (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  bill_id BIGINT NOT NULL,
  lab_report_id BIGINT NOT NULL,
  open_report_id BIGINT GENERATED ALWAYS AS (IF(closed_at IS NULL, lab_report_id, NULL)) STORED,
  detected_at BIGINT NOT NULL,
  due_at BIGINT NULL,
  escalations INT NOT NULL DEFAULT 0,
  closed_at BIGINT NULL,
  closed_by VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NULL,
  parameters JSON NULL,
  adopted TINYINT NOT NULL DEFAULT 0,
  notices_off TINYINT NOT NULL DEFAULT 0,
  UNIQUE KEY uq_ce_open (open_report_id),
  KEY ix_ce_lab (lab_id, detected_at),
  KEY ix_ce_report (lab_report_id, id),
  KEY ix_ce_due (due_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The escalation of each bill with open callouts. The row, not the task queue's job, decides whether a deadline has passed: the job
-- only wakes the service. Times are epoch milliseconds.
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

-- The state of a report's row when its values were last evaluated; the sweep finds reports that were not. memory: which
-- communicated values were announced as wrong, and which critical values need no call by the laboratory's policy.
CREATE TABLE IF NOT EXISTS callout_evaluation (
  lab_report_id BIGINT NOT NULL PRIMARY KEY,
  report_updated_on DATETIME(6) NOT NULL,
  memory JSON NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The settings of a laboratory; NULL, or no row, is the default of the deployment. repeat_within_hours: a critical value that is
-- like one of the same patient which was called within that time needs no call; 0 turns that off.
CREATE TABLE IF NOT EXISTS callout_setting (
  lab_id INT NOT NULL PRIMARY KEY,
  escalate_after_minutes INT NULL,
  escalate_most INT NULL,
  repeat_within_hours INT NOT NULL DEFAULT 0,
  read_back_needed TINYINT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Reports with a value that has critical limits and cannot be compared with them, and since when.
CREATE TABLE IF NOT EXISTS callout_unclear (
  lab_report_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL,
  since BIGINT NOT NULL,
  KEY ix_cu_lab (lab_id, since)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Up to when the sweep has seen every change of a report.
CREATE TABLE IF NOT EXISTS callout_sweep (
  id TINYINT NOT NULL PRIMARY KEY,
  swept_until DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Which communicated values were wrong, and when the persons informed were told so. Times are epoch milliseconds.
CREATE TABLE IF NOT EXISTS callout_correction (
  lab_report_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL,
  told_at BIGINT NOT NULL,
  parameters JSON NULL,
  KEY ix_cco_lab (lab_id, told_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
