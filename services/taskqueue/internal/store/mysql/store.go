// Package mysql holds the SQL of the task queue: the archive of finished jobs, the consents, the dictionary mappings,
// and the settings stored as rows (providers, senders, secrets of receivers). Jobs are accepted and delivered even if
// the database is unavailable.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/migrations"
)

// Store reads and writes the tables of the queue. It is safe for concurrent use.
type Store struct{ db *sql.DB }

// New returns a store. The caller closes db.
func New(db *sql.DB) *Store { return &Store{db: db} }

// Ready returns nil if the database responds and has the service's tables.
func (s *Store) Ready(ctx context.Context) error {
	return mysqldb.CheckSchemas(ctx, s.db, migrations.Schemas())
}

// each calls scan for every row.
func (s *Store) each(ctx context.Context, what, query string, args []any, scan func(*sql.Rows) error) error {
	if err := mysqldb.Each(ctx, s.db, query, args, scan); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}

const awayRetry = 5 * time.Second

// away converts errors of a database that is unavailable or has no tables yet to a temporary error for callers.
func away(err error) error {
	if err == nil || !cannotBeUsed(err) {
		return err
	}
	return apperr.New(apperr.Unavailable, "DATABASE_UNAVAILABLE",
		"The task queue's database does not answer; try again in a few seconds").WithRetryAfter(awayRetry).WithCause(err)
}

// cannotBeUsed reports whether err means that no statement can succeed at present.
func cannotBeUsed(err error) bool {
	return mysqldb.IsUnavailable(err) || mysqldb.IsNoTable(err) ||
		errors.Is(err, mysqldb.ErrCommitUnknown) || errors.Is(err, context.DeadlineExceeded) ||
		answers(err, 1044, 1045, 1049, 1698) // no access, or no such database: jobs wait until an operator fixes it
}

// answers reports whether err is a server error with one of these numbers.
func answers(err error, numbers ...uint16) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
}
