package mysqldb_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/servicetest"
)

// forMigrations opens the database of dsn as the verb migrate does.
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

// TestAMigrationDoesNotHoldUpTheServiceBehindAnOpenTransaction: an export or a vanished node has read the table.
func TestAMigrationDoesNotHoldUpTheServiceBehindAnOpenTransaction(t *testing.T) {
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	exec(t, db, "CREATE TABLE report (id INT PRIMARY KEY)")
	export, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = export.Rollback() }()
	var id, n int
	if err := export.QueryRowContext(t.Context(), "SELECT CONNECTION_ID(), (SELECT COUNT(*) FROM report)").Scan(&id, &n); err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"00001_add.sql": {Data: []byte("-- +goose Up\nALTER TABLE report ADD COLUMN flag INT NOT NULL DEFAULT 0;\n")}}
	var log servicetest.Logs
	migrated := make(chan error, 1)
	go func() {
		migrated <- mysqldb.Migrate(t.Context(), forMigrations(t, dsn), []mysqldb.Schema{{Service: "sample", Files: files}}, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	await.True(t, "the migration tells of the transaction in its way", func() bool {
		return strings.Contains(log.String(), fmt.Sprintf("connection %d of ", id))
	})
	exec(t, db, "INSERT INTO report VALUES (1)") // the service goes on between two tries
	if err := export.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Fatal(err)
	}
	exec(t, db, "INSERT INTO report VALUES (2, 1)")
}
