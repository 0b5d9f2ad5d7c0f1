package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
)

func (l *locked) Bills(ctx context.Context) (map[int64]callout.Bill, error) {
	ids := make([]int64, len(l.reports))
	for i, r := range l.reports {
		ids[i] = r.BillID
	}
	in, args := list(ids)
	bills := map[int64]callout.Bill{}
	err := each(
		ctx,
		l.tx,
		"read bills",
		"SELECT id, IFNULL(orgId_id, 0), IFNULL(docId_id, 0), userDetailsId_id FROM billing"+
			" WHERE labId_id = ? AND id IN ("+in+")",
		append([]any{l.scope.LabID()}, args...),
		func(r *sql.Rows) error {
			var b callout.Bill
			err := r.Scan(&b.ID, &b.OrgID, &b.DoctorID, &b.PatientID)
			bills[b.ID] = b
			return err
		},
	)
	return bills, err
}

func (l *locked) Memories(ctx context.Context, reportIDs []int64) (map[int64]evaluate.Memory, error) {
	in, args := list(reportIDs)
	memories := map[int64]evaluate.Memory{}
	err := each(
		ctx,
		l.tx,
		"read memories",
		"SELECT lab_report_id, memory FROM callout_evaluation WHERE lab_report_id IN ("+in+
			") AND memory IS NOT NULL",
		args,
		func(r *sql.Rows) error {
			var id int64
			var stored []byte
			if err := r.Scan(&id, &stored); err != nil {
				return err
			}
			var m evaluate.Memory
			if err := json.Unmarshal(stored, &m); err != nil {
				return fmt.Errorf("read memory: %w", err)
			}
			memories[id] = m
			return nil
		},
	)
	return memories, err
}

// Remember implements evaluate.Locked. Evaluated follows in the same transaction.
func (l *locked) Remember(ctx context.Context, reportID int64, m evaluate.Memory) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode memory: %T", m) // the encoder's error may quote a value
	}
	_, err = l.tx.ExecContext(ctx, "INSERT INTO callout_evaluation (lab_report_id, report_updated_on, memory)"+
		" SELECT id, updatedOn, ? FROM labReportRelation WHERE labId_id = ? AND id = ?"+
		" ON DUPLICATE KEY UPDATE memory = VALUES(memory)", string(text), l.scope.LabID(), reportID)
	return wrap("remember", err)
}

func (l *locked) Unclear(ctx context.Context, reportIDs []int64) (map[int64]bool, error) {
	in, args := list(reportIDs)
	var ids []int64
	err := each(ctx, l.tx, "read unclear", "SELECT lab_report_id FROM callout_unclear WHERE lab_report_id IN ("+in+
		") AND lab_id = ?", append(args, l.scope.LabID()), scanIDs(&ids))
	marked := map[int64]bool{}
	for _, id := range ids {
		marked[id] = true
	}
	return marked, err
}

func (l *locked) MarkUnclear(ctx context.Context, reportID int64, unclear bool, since time.Time) error {
	query, args := "DELETE FROM callout_unclear WHERE lab_report_id = ? AND lab_id = ?", []any{reportID, l.scope.LabID()}
	if unclear {
		query = "INSERT INTO callout_unclear (lab_report_id, lab_id, since) VALUES (?, ?, ?)"
		args = append(args, since.UnixMilli())
	}
	_, err := l.tx.ExecContext(ctx, query, args...)
	return wrap("mark unclear", err)
}

func (l *locked) NoteCorrection(ctx context.Context, reportID int64, was []callout.Parameter, at time.Time) error {
	parameters, err := parametersColumn(was)
	if err != nil {
		return err
	}
	_, err = l.tx.ExecContext(ctx, "INSERT INTO callout_correction (lab_report_id, lab_id, told_at, parameters)"+
		" VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE told_at = VALUES(told_at), parameters = VALUES(parameters)",
		reportID, l.scope.LabID(), at.UnixMilli(), parameters)
	return wrap("note correction", err)
}

// Evaluated implements evaluate.Locked: it reads the rows as this transaction leaves them.
func (l *locked) Evaluated(ctx context.Context, reportIDs []int64) error {
	in, args := list(reportIDs)
	_, err := l.tx.ExecContext(ctx, "INSERT INTO callout_evaluation (lab_report_id, report_updated_on)"+
		" SELECT id, updatedOn FROM labReportRelation WHERE labId_id = ? AND id IN ("+in+")"+
		" ON DUPLICATE KEY UPDATE report_updated_on = VALUES(report_updated_on)", append([]any{l.scope.LabID()}, args...)...)
	return wrap("note evaluation", err)
}
