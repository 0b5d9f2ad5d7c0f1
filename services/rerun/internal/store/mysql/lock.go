package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// lock runs work while it holds the report's row, then commits. See request.Reports.
func (s *Store) lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(*locked) error) error {
	err := mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		l := &locked{tx: tx, scope: scope, store: s}
		if err := l.take(ctx, reportID); err != nil {
			return err
		}
		return work(l)
	})
	return wrap("change report", err)
}

// locked is the transaction that holds the row.
type locked struct {
	store         *Store
	tx            *sql.Tx
	scope         authn.LabScope
	report        rerun.Report
	testID        int64
	billingInfoID sql.NullInt64
}

func (l *locked) take(ctx context.Context, reportID int64) error {
	l.report = rerun.Report{ID: reportID, LabID: l.scope.LabID()}
	err := l.tx.QueryRowContext(ctx, "SELECT billId_id, userDetailsId_id, sampleRedrawFlag, reportID_id,"+
		" billingInfoId_id, sampleId, manualSampleId, isSigned <> 0 OR isApproved <> 0 FROM labReportRelation"+
		" WHERE id = ? AND labId_id = ? FOR UPDATE", reportID, l.scope.LabID()).
		Scan(&l.report.BillID, &l.report.PatientID, &l.report.Flag, &l.testID, &l.billingInfoID,
			&l.report.SampleID, &l.report.ManualSampleID, &l.report.Signed)
	return wrap("lock report", err)
}

// Report returns the report as it was when the row was taken.
func (l *locked) Report() rerun.Report { return l.report }

// Parameters returns the enabled formats of the report and of its profile children.
func (l *locked) Parameters(ctx context.Context) ([]rerun.Parameter, error) {
	const query = "SELECT f.testId_id, f.`index`, f.`order`, f.parameterName FROM ReportFormat f" + testsOfReport +
		" WHERE f.isDisabled = 0 ORDER BY f.`order`, f.`index`, f.id"
	parameters, err := mysqldb.Collect(ctx, l.tx, query, []any{l.testID, l.billingInfoID, l.scope.LabID()},
		func(row mysqldb.Row, p *rerun.Parameter) error {
			return row.Scan(&p.TestID, &p.Index, &p.Order, &p.Name)
		})
	return parameters, wrap("read parameters", err)
}

// SetFlag changes the flag and nothing else of the row, which other services write too.
func (l *locked) SetFlag(ctx context.Context, to rerun.Flag) error {
	result, err := l.tx.ExecContext(ctx, "UPDATE labReportRelation SET sampleRedrawFlag = ?"+
		" WHERE id = ? AND labId_id = ? AND sampleRedrawFlag = ?",
		to, l.report.ID, l.scope.LabID(), l.report.Flag)
	if err != nil {
		return wrap("set flag", err)
	}
	n, err := result.RowsAffected()
	if err == nil && n != 1 && to != l.report.Flag {
		return fmt.Errorf("set flag: %d rows changed under the lock", n)
	}
	return wrap("set flag", err)
}

// Send makes a message durable with the transaction.
func (l *locked) Send(ctx context.Context, e outbox.Event) error {
	_, err := l.store.outbox.Insert(ctx, l.tx, l.store.clock.Now(), e)
	return wrap("send", err)
}
