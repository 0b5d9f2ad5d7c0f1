package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// querier is a transaction or a connection pool.
type querier interface {
	mysqldb.Querier
	mysqldb.RowsQuerier
}

// reader reads the facts about one report, in a transaction that holds its lock or without one.
type reader struct {
	q       querier
	scope   authn.LabScope
	now     time.Time
	suffix  string // FOR UPDATE in a transaction
	report  rerun.Report
	test    int64         // id of the report's own test
	billing sql.NullInt64 // id of the report's row in billingInfo
}

func (r *reader) load(ctx context.Context, reportID int64, wants rerun.Wants) (f rerun.Facts, err error) {
	if err := r.take(ctx, reportID); err != nil {
		return f, err
	}
	f.Report = r.report
	if f.Unconfirmed, err = r.unconfirmed(ctx); err != nil {
		return f, err
	}
	if wants.Tests {
		if f.Tests, err = r.tests(ctx); err != nil {
			return f, err
		}
	}
	if wants.Ledger {
		if f.Ledger, err = r.ledger(ctx); err != nil {
			return f, err
		}
	}
	if wants.Archived {
		if f.Archived, err = r.archived(ctx); err != nil {
			return f, err
		}
	}
	if wants.Results {
		f.Results, err = r.results(ctx)
	}
	return f, err
}

// take reads the report. In a transaction, it locks the report's row.
func (r *reader) take(ctx context.Context, reportID int64) error {
	r.report = rerun.Report{ID: reportID, LabID: r.scope.LabID()}
	err := r.q.QueryRowContext(ctx, "SELECT billId_id, userDetailsId_id, sampleRedrawFlag, reportID_id, billingInfoId_id,"+
		" sampleId, manualSampleId, isSigned <> 0 OR isApproved <> 0, dismissed, COALESCE(wordFilePath, '') <> '' FROM labReportRelation"+
		" WHERE id = ? AND labId_id = ?"+r.suffix, reportID, r.scope.LabID()).
		Scan(&r.report.BillID, &r.report.PatientID, &r.report.Flag, &r.test, &r.billing, &r.report.SampleID,
			&r.report.ManualSampleID, &r.report.Signed, &r.report.Dismissed, &r.report.HasDocument)
	return wrap("read report", err)
}

// unconfirmed reads what the callout service was last told. It is a separate statement after the lock, so that it sees
// the commit of the lock's previous holder and takes no lock itself.
func (r *reader) unconfirmed(ctx context.Context) (u rerun.Unconfirmed, err error) {
	var asOf int64
	err = r.q.QueryRowContext(ctx, "SELECT as_of, digest FROM rerun_unconfirmed WHERE lab_id = ? AND lab_report_id = ?",
		r.scope.LabID(), r.report.ID).Scan(&asOf, &u.Digest)
	if errors.Is(err, sql.ErrNoRows) {
		return u, nil
	}
	u.AsOf = time.UnixMicro(asOf).UTC()
	return u, wrap("read unconfirmed values", err)
}

// tests returns the enabled formats of the report's test, of all tests of its profile, and of tests that its values
// name.
func (r *reader) tests(ctx context.Context) (rerun.Tests, error) {
	const query = "SELECT f.testId_id, f.`index`, f.`order`, f.parameterName, COALESCE(t.testName, '') FROM ReportFormat f" +
		testsOfReport + " LEFT JOIN AllTests t ON t.id = f.testId_id" +
		" WHERE f.isDisabled = 0 ORDER BY f.`order`, f.`index`, f.id"
	parameters, err := mysqldb.Collect(ctx, r.q, query, testsArgs(r.scope, r.report.ID, r.test, r.billing),
		func(row mysqldb.Row, p *rerun.Parameter) error {
			return row.Scan(&p.TestID, &p.Index, &p.Order, &p.Name, &p.TestName)
		})
	return rerun.Tests{Own: r.test, Parameters: parameters}, wrap("read parameters", err)
}

// results returns the report's values. In a transaction it locks them, so that no other program changes what is
// archived.
func (r *reader) results(ctx context.Context) ([]rerun.Result, error) {
	query := "SELECT id, profileTestId, `index`, `order`, parameter_name, value, highlight, automatedValue" +
		" FROM reportValues WHERE labReportId_id = ? ORDER BY `order`, `index`, id" + r.suffix
	results, err := mysqldb.Collect(ctx, r.q, query, []any{r.report.ID}, func(row mysqldb.Row, r *rerun.Result) error {
		var value sql.NullString
		err := row.Scan(&r.ID, &r.ProfileTestID, &r.Index, &r.Order, &r.ParameterName, &value, &r.Highlight, &r.Automated)
		r.Value = value.String
		return err
	})
	return results, wrap("read report values", err)
}

// ledger reads the log entries since the last confirm or abort, and those within rerun.RememberFor. It does not read
// the large meta of archiving entries.
func (r *reader) ledger(ctx context.Context) (ledger rerun.Ledger, err error) {
	const query = "SELECT category, IF(category IN (?, ?), '{}', meta), activityDate >= ? FROM ActivityLog" +
		" WHERE lab_id = ? AND labReportId = ? AND meta IS NOT NULL AND category IN (?, ?, ?, ?)" +
		" AND (activityDate >= ? OR id > (SELECT COALESCE(MAX(id), 0) FROM ActivityLog" +
		" WHERE lab_id = ? AND labReportId = ? AND category IN (?, ?))) ORDER BY id"
	confirmed, cancelled := activitylog.RerunValuesConfirmed, activitylog.RerunCancelled
	since := r.now.Add(-rerun.RememberFor).UTC()
	args := []any{confirmed, cancelled, since, r.scope.LabID(), r.report.ID, activitylog.RerunRequested,
		activitylog.RerunValuesReceived, confirmed, cancelled, since, r.scope.LabID(), r.report.ID, confirmed, cancelled}
	err = mysqldb.Each(ctx, r.q, query, args, func(rows *sql.Rows) error {
		var category activitylog.Category
		var meta []byte
		var recent bool
		err := rows.Scan(&category, &meta, &recent)
		ledger.Note(category, meta, recent)
		return err
	})
	return ledger, wrap("read activity log", err)
}

// archived returns the ids of all documents of the report that are archived in the activity log.
func (r *reader) archived(ctx context.Context) (map[string]bool, error) {
	const query = "SELECT meta FROM ActivityLog WHERE lab_id = ? AND labReportId = ? AND meta IS NOT NULL" +
		" AND category IN (?, ?, ?)"
	args := []any{r.scope.LabID(), r.report.ID, activitylog.RerunValuesConfirmed, activitylog.RerunCancelled,
		activitylog.RerunFailed}
	archived := map[string]bool{}
	err := mysqldb.Each(ctx, r.q, query, args, func(rows *sql.Rows) error {
		var meta []byte
		err := rows.Scan(&meta)
		for _, id := range rerun.ArchivedIn(meta) {
			archived[id] = true
		}
		return err
	})
	return archived, wrap("read archive", err)
}
