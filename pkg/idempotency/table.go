package idempotency

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// KeyAge is the time after which a key expires.
const KeyAge = 24 * time.Hour

// sweepRows limits the rows that one statement deletes, so that it holds few locks and only briefly.
const sweepRows = 500

// Table is the table of one service.
type Table struct{ name string }

var tableName = regexp.MustCompile(`^idempotency_[a-z_]{1,40}$`)

// NewTable returns the table with this name, which must be idempotency_<service>.
func NewTable(name string) (Table, error) {
	if !tableName.MatchString(name) {
		return Table{}, fmt.Errorf("idempotency table %q must be named idempotency_<service>", name)
	}
	return Table{name: name}, nil
}

// Name returns the table's name.
func (t Table) Name() string { return t.name }

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the migrations that create and update the table of a service.
func Schema(service string) mysqldb.Schema {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // cannot happen: the folder is embedded
	}
	return mysqldb.Schema{
		Service: service, Part: "idempotency",
		Files: mysqldb.Renamed(files, "idempotency_service", "idempotency_"+service),
	}
}

// Sweep deletes the expired keys of all laboratories, 500 per statement, and returns their number. It may run
// concurrently with requests.
func (t Table) Sweep(ctx context.Context, db *sql.DB, now time.Time) (int64, error) {
	var swept int64
	for {
		deleted, err := t.sweepSome(ctx, db, now)
		swept += deleted
		if err != nil || deleted < sweepRows {
			return swept, err
		}
	}
}

func (t Table) sweepSome(ctx context.Context, db *sql.DB, now time.Time) (deleted int64, err error) {
	err = mysqldb.InTx(ctx, db, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(
			ctx,
			"DELETE FROM "+t.name+" WHERE expires_at <= ? ORDER BY expires_at LIMIT ?",
			now.UnixMilli(),
			sweepRows,
		)
		if err != nil {
			return err
		}
		deleted, err = result.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep %s: %w", t.name, err)
	}
	return deleted, nil
}
