// Package mysql stores the data of external editing: templates, sessions, revisions, uploads, the outbox. Of the
// platform's tables, it updates labReportRelation.wordFilePath and pdfFilePath, and appends to ActivityLog.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Names of the service's own tables.
const (
	OutboxTable      = "outbox_externaledit"
	IdempotencyTable = "idempotency_externaledit"
)

// LegacyColumns returns the columns of the platform's tables that the service needs.
func LegacyColumns() map[string][]string {
	columns := map[string][]string{
		"labReportRelation": {"id", "labId_id", "billId_id", "reportID_id", "userDetailsId_id", "sampleId", "manualSampleId",
			"isSigned", "dismissed", "wordFilePath", "pdfFilePath"},
		"billing":       append(sight.Columns(), "id", "labId_id", "labBillId", "userDetailsId_id"),
		"AllTests":      {"id", "labId_id", "testName"},
		"userDetails":   worklist.PatientTable(),
		"labUser":       {"id", "labId_id", "permissions"},
		"doctorDetails": {"id", "labId_id", "docType"},
		"labs":          {"id", "timezone"},
	}
	maps.Copy(columns, activitylog.Columns())
	return columns
}

// Store reads and writes the relational database. Its methods may be called from several goroutines.
type Store struct {
	db     *sql.DB
	outbox outbox.Table
	keys   idempotency.Table
	events Encoder
	clock  clock.Clock
}

// Encoder returns the outbox row of an event.
type Encoder func(session.Event) (outbox.Event, error)

// New returns a store over db, which the caller closes.
func New(db *sql.DB, events Encoder, c clock.Clock) (*Store, error) {
	table, err := outbox.NewTable(OutboxTable)
	if err != nil {
		return nil, fmt.Errorf("external edit store: %w", err)
	}
	keys, err := idempotency.NewTable(IdempotencyTable)
	if err != nil {
		return nil, fmt.Errorf("external edit store: %w", err)
	}
	return &Store{db: db, outbox: table, keys: keys, events: events, clock: c}, nil
}

// The bill is in a nested query, so that a lock on the selected rows does not include it.
const reportColumns = "SELECT r.id, r.billId_id, IFNULL(r.userDetailsId_id, 0), IFNULL((SELECT b.docId_id FROM billing b WHERE b.id = r.billId_id" +
	" AND b.labId_id = r.labId_id), 0), r.isSigned, r.dismissed, r.wordFilePath, r.pdfFilePath" +
	" FROM labReportRelation r WHERE r.id = ? AND r.labId_id = ?"

// querier is a connection pool or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func readReport(ctx context.Context, q querier, scope authn.LabScope, id int64, suffix string) (session.Report, error) {
	var r session.Report
	var word, pdf sql.NullString
	err := q.QueryRowContext(ctx, reportColumns+suffix, id, scope.LabID()).Scan(&r.ID, &r.BillID, &r.PatientID,
		&r.DoctorID, &r.Signed, &r.Dismissed, &word, &pdf)
	r.Files = session.Files{Word: word.String, PDF: pdf.String}
	return r, orMissing("read report", err, session.ErrNoReport)
}

// Report returns the report; session.ErrNoReport without one.
func (s *Store) Report(ctx context.Context, scope authn.LabScope, id int64) (session.Report, error) {
	return readReport(ctx, s.db, scope, id, "")
}

// Session returns a session, ended or not; session.ErrNoSession without one.
func (s *Store) Session(ctx context.Context, scope authn.LabScope, id int64) (session.Session, error) {
	return readSession(ctx, s.db, "id = ? AND lab_id = ?", id, scope.LabID())
}

// Active returns the report's session that was not closed; session.ErrNoActiveSession without one.
func (s *Store) Active(ctx context.Context, scope authn.LabScope, reportID int64) (session.Session, error) {
	found, err := readSession(ctx, s.db, "active_report_id = ? AND lab_id = ?", reportID, scope.LabID())
	if errors.Is(err, session.ErrNoSession) {
		return found, session.ErrNoActiveSession
	}
	return found, err
}

// Open returns the sessions of the reports that were not closed.
func (s *Store) Open(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]session.Session, error) {
	if len(reportIDs) == 0 {
		return nil, nil
	}
	marks, args := mysqldb.In(reportIDs, scope.LabID())
	query := sessionColumns + " WHERE lab_id = ? AND active_report_id IN (" + marks + ") ORDER BY lab_report_id"
	open, err := mysqldb.Collect(ctx, s.db, query, args, scanSession)
	return open, mysqldb.Wrap("read sessions", err)
}

// orMissing wraps err as mysqldb.Wrap does, but returns missing if there was no row.
func orMissing(operation string, err error, missing error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return missing
	}
	return mysqldb.Wrap(operation, err)
}
