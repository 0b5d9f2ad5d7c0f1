// Package mysql owns the SQL of the task queue: the archive of ended jobs, the consents, the dictionary mappings, and
// the settings that are rows: providers, senders, secrets of receivers. Nothing on the way of a job needs it.
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

// Store reads and writes the tables of the queue. Safe for concurrent use.
type Store struct{ db *sql.DB }

// New makes a store over db, which stays the caller's to close.
func New(db *sql.DB) *Store { return &Store{db: db} }

// Ready reports whether the database answers and has the service's tables.
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

// away translates a database that does not answer, or has no tables yet, into what callers may repeat.
func away(err error) error {
	if err == nil || !cannotBeUsed(err) {
		return err
	}
	return apperr.New(apperr.Unavailable, "DATABASE_UNAVAILABLE",
		"The task queue's database does not answer; try again in a few seconds").WithRetryAfter(awayRetry).WithCause(err)
}

// cannotBeUsed reports whether the database cannot be used at the moment, whatever is asked of it.
func cannotBeUsed(err error) bool {
	return mysqldb.IsUnavailable(err) || mysqldb.IsNoTable(err) ||
		errors.Is(err, mysqldb.ErrCommitUnknown) || errors.Is(err, context.DeadlineExceeded) ||
		answers(err, 1044, 1045, 1049, 1698) // access or the database itself: its operator fixes it, the jobs wait
}

// answers reports whether err is the server's answer with one of these numbers.
func answers(err error, numbers ...uint16) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
}
