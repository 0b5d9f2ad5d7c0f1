-- The deadline is the report's own: a later result of a bill is escalated whatever became of an earlier one. parameters
-- are what was critical, and decide when the wait ends; adopted tells that another program set the report to wait;
-- notices_off that nobody got a notice about it.
-- +goose Up
SET @statement = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'callout_episode' AND COLUMN_NAME = 'due_at') = 0,
  'ALTER TABLE callout_episode
    ADD COLUMN due_at BIGINT NULL AFTER detected_at,
    ADD COLUMN escalations INT NOT NULL DEFAULT 0 AFTER due_at,
    ADD COLUMN parameters JSON NULL,
    ADD COLUMN adopted TINYINT NOT NULL DEFAULT 0,
    ADD COLUMN notices_off TINYINT NOT NULL DEFAULT 0,
    ADD KEY ix_ce_report (lab_report_id, id),
    ADD KEY ix_ce_due (due_at)',
  'DO 0');
PREPARE add_columns FROM @statement;
EXECUTE add_columns;
DEALLOCATE PREPARE add_columns;
-- The deadline of a bill was that of the result that began its run; others begin their own.
UPDATE callout_episode e JOIN callout_escalation c ON c.bill_id = e.bill_id AND c.lab_id = e.lab_id AND c.is_open = 1
  SET e.due_at = c.due_at, e.escalations = c.level
  WHERE e.open_report_id IS NOT NULL AND e.due_at IS NULL AND e.escalations = 0 AND e.detected_at <= c.started_at;

-- +goose Down
ALTER TABLE callout_episode
  DROP KEY ix_ce_report, DROP KEY ix_ce_due, DROP COLUMN due_at, DROP COLUMN escalations, DROP COLUMN parameters,
  DROP COLUMN adopted, DROP COLUMN notices_off;
