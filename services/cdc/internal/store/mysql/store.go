// Package mysql holds the SQL of change capture: it computes user_meta from userDetails, billing and labReportRelation,
// which it only reads, and stores the progress of the pipeline. It reads only from the primary, because a replica may
// return outdated rows.
//
// Most methods serve the pipeline itself and cross laboratories; methods for one laboratory take it as an
// authn.LabScope.
package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/heartbeat"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

// Phases determines which columns user_meta has.
type Phases interface {
	Phase(ctx context.Context) (phase.Phase, error)
	// Check reads the schema again and reports whether the phase changed.
	Check(ctx context.Context) (now phase.Phase, changed bool, err error)
}

// Deps are the dependencies of a Store. The caller closes the pool.
type Deps struct {
	DB     *sql.DB
	Clock  clock.Clock
	Phases Phases
}

// Store reads and writes the relational database. It is safe for concurrent use.
type Store struct {
	db       *sql.DB
	clock    clock.Clock
	phases   Phases
	complete *statements // statements of phase running
	partial  *statements // statements of phase migration
}

var _ supervise.Jumps = (*Store)(nil)

var _ reconcile.Cursor = (*Store)(nil)

var _ heartbeat.Jumps = (*Store)(nil)

var _ materialize.Walks = (*Store)(nil)

// New returns a Store. It executes no statement.
func New(d Deps) *Store {
	return &Store{db: d.DB, clock: d.Clock, phases: d.Phases, complete: newStatements(true), partial: newStatements(false)}
}

// statements holds the SQL texts on user_meta for one phase.
type statements struct {
	columns  []column
	withName bool
}

func (s *Store) statements(ctx context.Context) (*statements, error) {
	now, err := s.phases.Phase(ctx)
	if err != nil {
		return nil, err
	}
	if now == phase.Running {
		return s.complete, nil
	}
	return s.partial, nil
}

// columnName matches a name in a list of columns, in which SQL keywords are in capitals.
var columnName = regexp.MustCompile(`\b[a-z]\w*`)

// SourceColumns returns the columns of the platform's tables that the service needs.
func SourceColumns() map[string][]string {
	named := func(list string) []string { return columnName.FindAllString(list, -1) }
	return map[string][]string{
		"labs": {"id"}, change.UserDetails: named(patientColumns),
		change.Billing: named(billColumns), change.LabReportRelation: named(reportColumns),
	}
}

func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// Schema reads the columns of user_meta.
type Schema struct{ db *sql.DB }

// NewSchema returns a Schema that reads from db.
func NewSchema(db *sql.DB) Schema { return Schema{db} }

// HasFullName reports whether user_meta has the column that ends the migration phase.
func (s Schema) HasFullName(ctx context.Context) (bool, error) {
	var n int
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.COLUMNS"+
		" WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'user_meta' AND COLUMN_NAME = 'full_name'").Scan(&n)
	return n > 0, wrap("read schema", err)
}

// SourceIndexes returns the indexes on the platform's tables that the service's queries need.
func SourceIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "billing", Columns: []string{"userDetailsId_id"}, For: "the card of a patient"},
		{Table: "labReportRelation", Columns: []string{"userDetailsId_id"}, For: "the card of a patient"},
		{Table: "userDetails", Columns: []string{"labId_id"}, For: "the walk over a laboratory"},
	}
}
