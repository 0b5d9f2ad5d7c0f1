package mysqldb_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
)

// forMigrations opens the database of dsn like the verb migrate.
func forMigrations(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	d, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(d.Addr)
	if err != nil {
		t.Fatal(err)
	}
	cfg := mysqldb.Config{Host: host, User: d.User, Database: d.DBName, PoolSize: 2}
	if cfg.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	db, err := mysqldb.OpenForMigrations(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// export returns a transaction that has read the table report, as an export or a vanished node leaves it.
func export(t *testing.T, db *sql.DB) (tx *sql.Tx, connection int) {
	t.Helper()
	exec(t, db, "CREATE TABLE report (id INT PRIMARY KEY)")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT CONNECTION_ID(), (SELECT COUNT(*) FROM report)").Scan(&connection, &n); err != nil {
		t.Fatal(err)
	}
	return tx, connection
}

func addColumn() []mysqldb.Schema {
	const statement = "-- +goose Up\nALTER TABLE report ADD COLUMN flag INT NOT NULL DEFAULT 0;\n"
	return []mysqldb.Schema{{Service: "sample", Files: fstest.MapFS{"00001_add.sql": {Data: []byte(statement)}}}}
}

func TestBlockedMigrationDoesNotBlockTheService(t *testing.T) {
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	tx, id := export(t, db)
	var log servicetest.Logs
	migrated := make(chan error, 1)
	go func() {
		migrated <- mysqldb.Migrate(t.Context(), forMigrations(t, dsn), addColumn(), slog.New(slog.NewTextHandler(&log, nil)))
	}()
	await.True(t, "the migration logs the transaction that blocks it", func() bool {
		return strings.Contains(log.String(), fmt.Sprintf("connection %d of ", id))
	})
	exec(t, db, "INSERT INTO report VALUES (1)") // the service works between two attempts
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Fatal(err)
	}
	exec(t, db, "INSERT INTO report VALUES (2, 1)")
}

func TestFailedMigrationNamesTheTransactionThatBlocksIt(t *testing.T) {
	if !long() {
		t.Skip("takes two minutes: LAB_LONG_TESTS=1")
	}
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	tx, id := export(t, db)
	stop := keepBusy(t, tx)
	err := mysqldb.Migrate(t.Context(), forMigrations(t, dsn), addColumn(), slog.New(slog.DiscardHandler))
	stop()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("connection %d of ", id)) || !strings.Contains(err.Error(), "run migrate again") {
		t.Errorf("Migrate = %v, want the connection named and what to do", err)
	}
	_ = tx.Rollback()
	if err := mysqldb.Migrate(t.Context(), forMigrations(t, dsn), addColumn(), slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("second Migrate: %v, want success", err)
	}
	exec(t, db, "INSERT INTO report VALUES (2, 1)")
}

// keepBusy sends statements in the transaction's session, because the server would close a silent one.
func keepBusy(t *testing.T, tx *sql.Tx) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() {
		_ = lifecycle.Every(ctx, time.Second, slog.New(slog.DiscardHandler), "busy", func(context.Context) error {
			_, err := tx.ExecContext(t.Context(), "DO 0")
			return err
		})
	})
	return func() { cancel(); busy.Wait() }
}
