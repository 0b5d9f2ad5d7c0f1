-- What was said about critical values is a ledger. callout_correction, callout_unclear and callout_evaluation.memory are not used
-- any more; they stay for programs of version 1.0.0 and go with the next major version.
-- +goose Up
-- Rows are only ever added; one holds until another one takes it back. Times are epoch microseconds: said_at when the statement was
-- recorded, told_at when a person was informed. callout_id is the row of CriticalCallout that it stands for.
CREATE TABLE IF NOT EXISTS callout_statement (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  lab_report_id BIGINT NOT NULL,
  statement_key VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  bill_id BIGINT NOT NULL,
  patient_id BIGINT NOT NULL,
  parameters JSON NULL,
  org_id BIGINT NULL,
  doctor_id BIGINT NULL,
  persons JSON NULL,
  heard TINYINT NOT NULL DEFAULT 0,
  read_back TINYINT NOT NULL DEFAULT 0,
  said_at BIGINT NOT NULL,
  told_at BIGINT NULL,
  takes_back VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  reason VARCHAR(255) NULL,
  because VARCHAR(96) CHARACTER SET ascii COLLATE ascii_bin NULL,
  callout_id BIGINT NULL,
  record JSON NULL,
  not_sent TINYINT NOT NULL DEFAULT 0,
  UNIQUE KEY uq_cs_key (lab_report_id, statement_key),
  KEY ix_cs_lab (lab_id, kind, said_at),
  KEY ix_cs_kind (kind, said_at),
  KEY ix_cs_callout (callout_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Rerun values that wait for a confirmation, as the rerun service sent them last. as_of grows with each change; looked_at is the as_of
-- that was judged after the escalation time. Times are epoch microseconds.
CREATE TABLE IF NOT EXISTS callout_unconfirmed (
  lab_report_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL,
  as_of BIGINT NOT NULL,
  received_at BIGINT NOT NULL,
  looked_at BIGINT NOT NULL DEFAULT 0,
  readings JSON NULL,
  KEY ix_cun_lab (lab_id, received_at),
  KEY ix_cun_received (received_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Laboratories whose notices cannot be sent at present, and since when: epoch microseconds.
CREATE TABLE IF NOT EXISTS callout_reach (
  lab_id INT NOT NULL PRIMARY KEY,
  reason VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  since BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- What judgements depend on and no row's date tells: the time zone of a laboratory, the ranges of a test.
CREATE TABLE IF NOT EXISTS callout_input (
  kind VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  input_id BIGINT NOT NULL,
  digest BIGINT NOT NULL,
  PRIMARY KEY (kind, input_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The names at the time of the call: org, patient, referral, user, doctor.
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'CriticalCallout' AND COLUMN_NAME = 'names') = 0,
  'ALTER TABLE CriticalCallout
    ADD COLUMN names JSON NULL',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'callout_episode' AND COLUMN_NAME = 'remind_at') = 0,
  'ALTER TABLE callout_episode
    ADD COLUMN remind_at BIGINT NULL,
    ADD KEY ix_ce_remind (remind_at)',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'callout_setting' AND COLUMN_NAME = 'remind_hours') = 0,
  'ALTER TABLE callout_setting
    ADD COLUMN remind_hours INT NULL',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
-- The inputs of the last judgement beside the report's row: a judgement is repeated when one changes. values_sum is the sum of the
-- times of all values; -1: judge it again.
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'callout_evaluation' AND COLUMN_NAME = 'values_sum') = 0,
  'ALTER TABLE callout_evaluation
    ADD COLUMN patient_updated_on DATETIME(6) NULL,
    ADD COLUMN bill_updated_on DATETIME(6) NULL,
    ADD COLUMN values_sum BIGINT NULL,
    ADD KEY ix_cev_sum (values_sum)',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;

-- A wait that was escalated to its end before reminders existed is reminded of at once.
UPDATE callout_episode SET remind_at = detected_at
WHERE open_report_id IS NOT NULL AND due_at IS NULL AND escalations > 0 AND remind_at IS NULL;

-- Completed callouts, and the corrections that everyone was told of, are the first statements. A callout whose values are not a
-- readable list is taken in by the service, as one of another program.
INSERT IGNORE INTO callout_statement (lab_id, lab_report_id, statement_key, kind, bill_id, patient_id, parameters, org_id, doctor_id,
  heard, read_back, said_at, callout_id)
SELECT c.lab_id, c.lab_report_id, CONCAT('callout:', c.id),
  IF(IFNULL(JSON_UNQUOTE(JSON_EXTRACT(c.critical_callout_meta, '$.corrected')) = 'true', 0), 'correction_call', 'call'),
  IFNULL(c.bill_id, 0), IFNULL(c.user_details_id, 0),
  JSON_EXTRACT(c.critical_values_meta, CONCAT('$."', c.lab_report_id, '".critical_parameters')), c.org_id, c.referral_doc_id,
  IF(IFNULL(JSON_UNQUOTE(JSON_EXTRACT(c.critical_callout_meta, '$.corrected')) = 'true', 0), 0, 1),
  IFNULL(JSON_UNQUOTE(JSON_EXTRACT(c.critical_callout_meta, '$.read_back')) = 'true', 0),
  TIMESTAMPDIFF(MICROSECOND, '1970-01-01', c.created_on), c.id
FROM CriticalCallout c WHERE c.lab_report_id IS NOT NULL
  AND JSON_TYPE(JSON_EXTRACT(c.critical_values_meta, CONCAT('$."', c.lab_report_id, '".critical_parameters'))) = 'ARRAY';
INSERT IGNORE INTO callout_statement (lab_id, lab_report_id, statement_key, kind, bill_id, patient_id, parameters, org_id, doctor_id,
  heard, said_at, takes_back)
SELECT s.lab_id, s.lab_report_id, CONCAT('corrected:', s.callout_id), 'correction', s.bill_id, s.patient_id, k.parameters, s.org_id,
  s.doctor_id, 1, k.told_at * 1000, s.statement_key
FROM callout_correction k JOIN callout_statement s ON s.lab_report_id = k.lab_report_id AND s.kind = 'call'
  AND s.said_at <= k.told_at * 1000;
-- The notice of an open wait went to the organization and the doctor of the bill.
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('billing', 'labReportRelation')) = 2,
  'INSERT IGNORE INTO callout_statement (lab_id, lab_report_id, statement_key, kind, bill_id, patient_id, parameters, org_id, doctor_id,
    said_at)
  SELECT e.lab_id, e.lab_report_id, ''notice:1'', ''notice'', e.bill_id, r.userDetailsId_id, e.parameters, b.orgId_id, b.docId_id,
    e.detected_at * 1000
  FROM callout_episode e JOIN labReportRelation r ON r.id = e.lab_report_id LEFT JOIN billing b ON b.id = r.billId_id
  WHERE e.open_report_id IS NOT NULL AND e.parameters IS NOT NULL',
  'DO 0');
PREPARE add_notices FROM @statement;
EXECUTE add_notices;
DEALLOCATE PREPARE add_notices;
-- The draft of a bill is the newest attempt of each of its reports that waits.
INSERT IGNORE INTO callout_statement (lab_id, lab_report_id, statement_key, kind, bill_id, patient_id, parameters, org_id, doctor_id,
  heard, said_at)
SELECT c.lab_id, e.lab_report_id, 'attempt:1', 'attempt', c.bill_id, IFNULL(c.user_details_id, 0),
  JSON_EXTRACT(c.critical_values_meta, CONCAT('$."', e.lab_report_id, '".critical_parameters')), c.org_id, c.referral_doc_id,
  IFNULL(JSON_UNQUOTE(JSON_EXTRACT(c.critical_callout_meta, '$.outcome')) = 'reached_no_readback', 0),
  TIMESTAMPDIFF(MICROSECOND, '1970-01-01', c.created_on)
FROM CriticalCallout c JOIN callout_episode e ON e.lab_id = c.lab_id AND e.bill_id = c.bill_id AND e.open_report_id IS NOT NULL
WHERE c.draft_bill_id IS NOT NULL
  AND JSON_TYPE(JSON_EXTRACT(c.critical_values_meta, CONCAT('$."', e.lab_report_id, '".critical_parameters'))) = 'ARRAY';
