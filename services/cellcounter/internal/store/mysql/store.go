// Package mysql stores cells, mappings, targets and raw counts in the relational database. It also reads the platform's
// tables AllTests, ReportFormat, labReportRelation, billing and userDetails, and appends to ActivityLog.
package mysql

import (
	"database/sql"
	"maps"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Store reads and writes the relational database. Its methods may be called from several goroutines.
type Store struct{ db *sql.DB }

var (
	_ configure.Store = (*Store)(nil)
	_ observe.Store   = (*Store)(nil)
)

// New returns a store over db, which the caller closes.
func New(db *sql.DB) *Store { return &Store{db} }

// LegacyColumns returns the columns of the platform's tables that the service reads.
func LegacyColumns() map[string][]string {
	columns := map[string][]string{
		"AllTests":     {"id", "labId_id", "testName"},
		"ReportFormat": {"id", "testId_id", "index", "order", "parameterName", "unit", "isDisabled"},
		"labReportRelation": {"id", "labId_id", "billId_id", "reportID_id", "userDetailsId_id", "sampleId", "manualSampleId",
			"isSigned", "dismissed"},
		"billing":     append(sight.Columns(), "id", "labId_id", "labBillId"),
		"userDetails": worklist.PatientTable(),
	}
	maps.Copy(columns, activitylog.Columns())
	return columns
}

// LegacyIndexes returns the indexes on the platform's tables that the service needs.
func LegacyIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "labReportRelation", Columns: []string{"labId_id", "reportID_id", "isSigned", "dismissed"},
			For: "the reports that wait for a count"},
	}
}
