// Package mysql owns the SQL of the task queue: the archive of ended jobs, the consents, the dictionary mappings
// and the configuration of providers. Nothing on the way of a job needs it.
package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/migrations"
)

const awayRetry = 5 * time.Second

// away translates a database that does not answer, or has no tables yet, into what callers may repeat.
func away(err error) error {
	if err == nil || !Away(err) {
		return err
	}
	return apperr.New(apperr.Unavailable, "DATABASE_UNAVAILABLE", "The task queue's database does not answer; try again in a few seconds").
		WithRetryAfter(awayRetry).
		WithCause(err)
}

// Away reports whether err says that the database cannot be used at the moment, whatever is asked of it.
func Away(err error) bool {
	var answered *mysql.MySQLError
	switch {
	case mysqldb.IsUnavailable(err), errors.Is(err, mysqldb.ErrCommitUnknown), mysqldb.IsNoTable(err),
		errors.Is(err, context.DeadlineExceeded):
		return true
	case errors.As(err, &answered):
		switch answered.Number {
		case 1044, 1045, 1049, 1698: // access or the database itself: its operator mends it, the jobs wait
			return true
		}
	}
	return false
}

// Ready reports whether the database answers and has the service's tables.
func Ready(ctx context.Context, db *sql.DB) error {
	return mysqldb.CheckSchemas(ctx, db, migrations.Schemas())
}
