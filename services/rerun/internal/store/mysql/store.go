// Package mysql stores the data of the rerun service in the relational database: the report's flag, the activity log,
// report values, and the outbox. It locks the report's row, and reads formats and ranges. Of the platform's tables, it
// writes sampleRedrawFlag and, on a confirm, isSigned, isApproved and reportValues; it appends to ActivityLog.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/lab/reportformat"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// OutboxTable is the name of the service's outbox.
const OutboxTable = "outbox_rerun"

// Messages encodes the messages to the callout service.
type Messages interface {
	// Evaluation encodes the request to evaluate the report. logID distinguishes two confirms.
	Evaluation(scope authn.LabScope, reportID, logID int64) (outbox.Event, error)
	// Unconfirmed encodes the values that were received but not confirmed.
	Unconfirmed(scope authn.LabScope, reportID int64, a rerun.Announcement) (outbox.Event, error)
}

// Store reads and writes the relational database. Its methods may be called from several goroutines.
type Store struct {
	db       *sql.DB
	outbox   outbox.Table
	clock    clock.Clock
	messages Messages
}

var (
	_ autorerun.Subjects = (*Store)(nil)
	_ closing.Reports    = (*Store)(nil)
	_ listing.Reports    = (*Store)(nil)
	_ receive.Reports    = (*Store)(nil)
	_ request.Reports    = (*Store)(nil)
	_ sweep.Reports      = (*Store)(nil)
)

// New returns a store over db, which the caller closes.
func New(db *sql.DB, c clock.Clock, m Messages) (*Store, error) {
	table, err := outbox.NewTable(OutboxTable)
	if err != nil {
		return nil, fmt.Errorf("rerun store: %w", err)
	}
	return &Store{db, table, c, m}, nil
}

// LegacyColumns returns the columns of the platform's tables that the service needs.
func LegacyColumns() map[string][]string {
	columns := map[string][]string{
		"labs": {"id", "timezone"},
		"labReportRelation": {"id", "labId_id", "billId_id", "billingInfoId_id", "userDetailsId_id", "reportID_id",
			"sampleCollectionTime", "sampleRedrawFlag",
			"sampleId", "manualSampleId", "isSigned", "isApproved", "dismissed", "wordFilePath"},
		"AllTests":     {"id", "testName"},
		"billingInfo":  {"id", "labId_id", "testId_id", "profileParentId"},
		"ReportFormat": {"id", "testId_id", "index", "order", "parameterName", "unit", "valueType", "isDisabled", "meta"},
		"userDetails":  {"id", "gender", "dateOfBirth", "age"},
		"reportValues": {"id", "labReportId_id", "reportForId_id", "profileTestId", "index", "order", "parameter_name",
			"value", "highlight", "automatedValue"},
	}
	maps.Copy(columns, reportformat.Columns())
	maps.Copy(columns, activitylog.Columns())
	return columns
}

// Flag returns the committed flag of the report.
func (s *Store) Flag(ctx context.Context, scope authn.LabScope, reportID int64) (rerun.Flag, error) {
	var flag rerun.Flag
	err := s.db.QueryRowContext(ctx, "SELECT sampleRedrawFlag FROM labReportRelation WHERE id = ? AND labId_id = ?",
		reportID, scope.LabID()).Scan(&flag)
	return flag, wrap("read flag", err)
}

// errUnknown is returned if the response to a commit was lost, so that the change may or may not have been made.
var errUnknown = apperr.New(apperr.Unavailable, "OUTCOME_UNKNOWN",
	"The database did not answer whether the change was made; load the report, and try again if it was not")

// wrap adds the operation to an error and converts errors of the driver: without a row the report is unknown, a lost
// connection means that the database is unavailable. A lost response to a commit remains mysqldb.ErrCommitUnknown for
// errors.Is.
func wrap(operation string, err error) error {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return rerun.ErrNoReport
	case errors.Is(err, mysqldb.ErrCommitUnknown):
		return errUnknown.WithCause(fmt.Errorf("%s: %w", operation, err))
	default:
		return mysqldb.Wrap(operation, err)
	}
}

// Replace stores the message that combine returns in place of the one that waits with this dedupe key. combine gets the
// payload of the waiting message, nil without one, and may be called again; without a message, the waiting one stays.
// A message that is being delivered may be delivered beside its replacement.
func (s *Store) Replace(
	ctx context.Context, dedupeKey string, combine func(waiting []byte) (*outbox.Event, error),
) error {
	for {
		done, err := s.replace(ctx, dedupeKey, combine)
		if done || err != nil { // otherwise another message with the key was stored meanwhile
			return wrap("replace message", err)
		}
	}
}

func (s *Store) replace(
	ctx context.Context, dedupeKey string, combine func(waiting []byte) (*outbox.Event, error),
) (done bool, err error) {
	err = mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error {
		var id int64
		var waiting []byte
		query := "SELECT id, payload FROM " + s.outbox.Name() + " WHERE dedupe_key = ? FOR UPDATE"
		err := tx.QueryRowContext(ctx, query, dedupeKey).Scan(&id, &waiting)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		e, err := combine(waiting)
		if err != nil || e == nil {
			done = err == nil
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+s.outbox.Name()+" WHERE id = ?", id); err != nil {
			return err
		}
		done, err = s.outbox.Insert(ctx, tx, s.clock.Now(), *e)
		return err
	})
	return done, err
}

// LegacyIndexes returns the indexes on the platform's tables that the service needs.
func LegacyIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "labReportRelation", Columns: []string{"sampleRedrawFlag", "id"}, For: "the search for open reruns"},
		{Table: "reportValues", Columns: []string{"labReportId_id"}, For: "a confirmation"},
		{Table: "ReportFormat", Columns: []string{"testId_id"}, For: "a judgement"},
		{Table: "ReportFormatRange", Columns: []string{"reportFormatId_id"}, For: "a judgement"},
	}
}
