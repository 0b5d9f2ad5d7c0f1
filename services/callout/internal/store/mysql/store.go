// Package mysql stores the data of the callout service: the ledger of statements, callouts and drafts, waits,
// evaluations, settings, reach and the outbox. Of the platform's tables, it updates labReportRelation.criticalValues
// and appends to ActivityLog.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/lab/reportformat"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/claim"
	"github.com/labplatform/labplatform/services/callout/internal/history"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// OutboxTable is the name of the service's outbox.
const OutboxTable = "outbox_callout"

// querier is a connection pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Store reads and writes the relational database. Its methods may be called from several goroutines.
type Store struct {
	db       *sql.DB
	outbox   outbox.Table
	messages Messages
	clock    clock.Clock
	defaults callout.Settings // settings of laboratories without their own
	bands    bands
	recent   recent
}

var (
	_ claim.Store    = (*Store)(nil)
	_ history.Store  = (*Store)(nil)
	_ records.Store  = (*Store)(nil)
	_ settings.Store = (*Store)(nil)
	_ worklist.Store = (*Store)(nil)
)

// Messages encodes messages to other services.
type Messages interface {
	Encode(labID int64, m callout.Message) (outbox.Event, error)
	// Wake returns the outbox event that reschedules the bill's task queue job for its earliest deadline.
	Wake(labID, billID int64) (outbox.Event, error)
}

// New returns a store over db, which the caller closes. pace holds the defaults for settings that a laboratory has not
// changed.
func New(db *sql.DB, c clock.Clock, m Messages, pace callout.Settings) (*Store, error) {
	table, err := outbox.NewTable(OutboxTable)
	if err != nil {
		return nil, fmt.Errorf("callout store: %w", err)
	}
	return &Store{db: db, outbox: table, messages: m, clock: c, defaults: pace}, nil
}

// LegacyColumns returns the columns that the service needs in the platform's tables.
func LegacyColumns() map[string][]string {
	columns := map[string][]string{
		"labs":                      {"id", "timezone"},
		"department":                {"id", "labId_id", "departmentName"},
		"organization":              {"id", "labId_id", "orgFullName"},
		"doctorDetails":             {"id", "labId_id", "docFullName"},
		"labUser":                   {"id", "labId_id", "fullName", "isAdmin"},
		"DoctorDepartmentRelation":  {"docId_id", "departmentId_id"},
		"LabUserDepartmentRelation": {"labUserId_id", "departmentId_id"},
		"userDetails": {
			"id", "labId_id", "fullName", "labPatientId", "gender", "dateOfBirth", "age", "isDeleted", "updatedOn",
		},
		"billing": {
			"id", "labId_id", "labBillId", "orderNumber", "userDetailsId_id", "orgId_id", "docId_id", "updatedOn",
		},
		"billingInfo": {"id", "labId_id", "testId_id", "profileParentId"},
		"AllTests":    {"id", "testName", "departmentId_id", "isProfile"},
		"ReportFormat": {
			"id",
			"testId_id",
			"index",
			"order",
			"parameterName",
			"unit",
			"valueType",
			"isDisabled",
		},
		"reportValues": {"id", "labReportId_id", "profileTestId", "index", "order", "parameter_name", "value", "updated_at"},
		"labReportRelation": {"id", "labId_id", "billId_id", "billingInfoId_id", "userDetailsId_id", "reportID_id",
			"reportFormatId_id", "docForId_id", "orgId_id", "sampleCollected", "sampleCollectionTime", "dismissed", "isProfile",
			"isSigned", "isSynced", "isApproved", "isResolved", "inQuestion", "notPerformed", "onHold", "claim_on_hold",
			"comments", "criticalValues", "sampleRedrawFlag", "auto_approval_status", "updatedOn"},
	}
	maps.Copy(columns, reportformat.Columns())
	maps.Copy(columns, activitylog.Columns())
	return columns
}

// list returns the placeholders and arguments of an IN (…) condition for ids. An empty list gives NULL, which matches
// no row.
func list(ids []int64) (placeholders string, args []any) {
	if len(ids) == 0 {
		return "NULL", nil
	}
	for _, id := range ids {
		args = append(args, id)
	}
	return "?" + strings.Repeat(", ?", len(ids)-1), args
}

// errUnknown is returned if the response to a commit was lost and its outcome is unknown.
var errUnknown = apperr.New(
	apperr.Unavailable,
	"OUTCOME_UNKNOWN",
	"The response of the database was lost, so the change may have been made; load the bill's critical records, and try again if it was not",
)

// wrap wraps err as mysqldb.Wrap does, but returns errUnknown if the outcome of a commit is unknown.
func wrap(operation string, err error) error {
	if errors.Is(err, mysqldb.ErrCommitUnknown) {
		return errUnknown.WithCause(fmt.Errorf("%s: %w", operation, err))
	}
	return mysqldb.Wrap(operation, err)
}

// each calls scan for every row of a query.
func each(ctx context.Context, q querier, operation, query string, args []any, scan func(*sql.Rows) error) error {
	return wrap(operation, mysqldb.Each(ctx, q, query, args, scan))
}

// LegacyIndexes returns the indexes on the platform's tables that the service needs.
func LegacyIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "labReportRelation", Columns: []string{"criticalValues", "labId_id"}, For: "the board"},
		{Table: "labReportRelation", Columns: []string{"updatedOn"}, For: "the search for reports that were not judged"},
		{Table: "labReportRelation", Columns: []string{"labId_id", "billId_id"}, For: "the reports of a bill"},
		{Table: "reportValues", Columns: []string{"labReportId_id"}, For: "a judgement"},
		{Table: "reportValues", Columns: []string{"updated_at"}, For: "the search for changed values"},
		{Table: "userDetails", Columns: []string{"updatedOn"}, For: "the search for changed patients"},
		{Table: "billing", Columns: []string{"updatedOn"}, For: "the search for changed bills"},
		{Table: "labReportRelation", Columns: []string{"userDetailsId_id"}, For: "the reports of a patient"},
		{Table: "ReportFormat", Columns: []string{"testId_id"}, For: "a judgement"},
		{Table: "ReportFormatRange", Columns: []string{"reportFormatId_id"}, For: "a judgement"},
	}
}
