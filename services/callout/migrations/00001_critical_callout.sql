-- Who was told about which critical result. Rows with a report are the audit and are only ever added; the row of a bill
-- without a report is its draft, of which the unique key allows one.
-- +goose Up
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

-- +goose Down
DROP TABLE CriticalCallout;
