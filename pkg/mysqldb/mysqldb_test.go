package mysqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func exec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func TestInTxRetriesADeadlock(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	exec(t, db, "CREATE TABLE account (id INT PRIMARY KEY, n INT NOT NULL)")
	exec(t, db, "INSERT INTO account VALUES (1, 0), (2, 0)")
	var meet, ends sync.WaitGroup
	meet.Add(2)
	var attempts atomic.Int32
	add := func(first, second int) {
		met := false
		err := mysqldb.InTx(t.Context(), db, func(tx *sql.Tx) error {
			attempts.Add(1)
			if _, err := tx.ExecContext(t.Context(), "UPDATE account SET n = n + 1 WHERE id = ?", first); err != nil {
				return err
			}
			if !met { // each has locked one row and continues with the other's
				met = true
				meet.Done()
				meet.Wait()
			}
			_, err := tx.ExecContext(t.Context(), "UPDATE account SET n = n + 1 WHERE id = ?", second)
			return err
		})
		if err != nil {
			t.Errorf("InTx with rows %d and %d: %v", first, second, err)
		}
	}
	ends.Go(func() { add(1, 2) })
	ends.Go(func() { add(2, 1) })
	ends.Wait()
	var sum int
	if err := db.QueryRowContext(t.Context(), "SELECT SUM(n) FROM account").Scan(&sum); err != nil || sum != 4 {
		t.Fatalf("sum = %d, error %v, want 4", sum, err)
	}
	if n := attempts.Load(); n < 3 {
		t.Fatalf("attempts = %d, want at least 3 after a deadlock", n)
	}
}

func TestInTxRollsBackOnError(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	exec(t, db, "CREATE TABLE r (id INT PRIMARY KEY)")
	boom := errors.New("boom")
	err := mysqldb.InTx(t.Context(), db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO r VALUES (1)"); err != nil {
			return err
		}
		return boom
	})
	var n int
	if scan := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM r").Scan(&n); scan != nil || n != 0 || !errors.Is(err, boom) {
		t.Fatalf("rows = %d, error %v, query error %v, want 0 and the function's error", n, err, scan)
	}
}

func TestInTxReportsAFailedCommit(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	exec(t, db, "CREATE TABLE r (id INT PRIMARY KEY)")
	err := mysqldb.InTx(t.Context(), db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO r VALUES (1)"); err != nil {
			return err
		}
		var id int64
		if err := tx.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			return err
		}
		_, err := db.ExecContext(t.Context(), "KILL CONNECTION ?", id)
		return err
	})
	if !errors.Is(err, mysqldb.ErrCommitUnknown) {
		t.Fatalf("InTx = %v, want ErrCommitUnknown", err)
	}
}

func TestIsDuplicate(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	exec(t, db, "CREATE TABLE r (id INT PRIMARY KEY)")
	exec(t, db, "INSERT INTO r VALUES (1)")
	_, err := db.ExecContext(t.Context(), "INSERT INTO r VALUES (1)")
	if !mysqldb.IsDuplicate(err) || mysqldb.IsDuplicate(errors.New("other")) {
		t.Fatalf("IsDuplicate(%v) = false, or true for another error", err)
	}
}

func TestSessionsAreReadCommittedAndUTC(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	var name, value, zone string
	err := db.QueryRowContext(t.Context(), "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation','transaction_isolation')").Scan(&name, &value)
	if err != nil || value != "READ-COMMITTED" {
		t.Fatalf("isolation = %q, error %v, want READ-COMMITTED", value, err)
	}
	if err := db.QueryRowContext(t.Context(), "SELECT @@time_zone").Scan(&zone); err != nil || zone != "+00:00" {
		t.Fatalf("time_zone = %q, error %v, want +00:00", zone, err)
	}
}

func TestMigrateIsSafeForConcurrentReplicas(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	files := fstest.MapFS{
		"00001_first.sql":  {Data: []byte("-- +goose Up\nCREATE TABLE a (id INT PRIMARY KEY);\n")},
		"00002_second.sql": {Data: []byte("-- +goose Up\nINSERT INTO a VALUES (1);\n")},
	}
	quiet := slog.New(slog.DiscardHandler)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if err := mysqldb.Migrate(t.Context(), db, []mysqldb.Schema{{Service: "rerun", Files: files}}, quiet); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM a").Scan(&n); err != nil || n != 1 {
		t.Fatalf("rows = %d, error %v, want 1", n, err)
	}
}

func TestMigrateContinuesAfterACrash(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	exec(t, db, "CREATE TABLE goose_rerun (id SERIAL, version_id BIGINT NOT NULL, is_applied BOOLEAN NOT NULL, tstamp TIMESTAMP NULL DEFAULT now(), PRIMARY KEY(id))")
	files := fstest.MapFS{"00001_first.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (id INT PRIMARY KEY);\n")}}
	for range 2 {
		if err := mysqldb.Migrate(t.Context(), db, []mysqldb.Schema{{Service: "rerun", Files: files}}, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, db, "INSERT INTO a VALUES (1)")
}

func TestRequireColumnsNamesMissingColumns(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	exec(t, db, "CREATE TABLE billing (id INT PRIMARY KEY)")
	if err := mysqldb.RequireColumns(t.Context(), db, map[string][]string{"billing": {"id"}}); err != nil {
		t.Fatal(err)
	}
	err := mysqldb.RequireColumns(t.Context(), db, map[string][]string{"billing": {"id", "vat"}})
	if err == nil || !strings.Contains(err.Error(), "`billing` ADD COLUMN `vat`") {
		t.Fatalf("RequireColumns = %v, want the missing column", err)
	}
}

func TestOpenDoesNotConnect(t *testing.T) {
	t.Parallel()
	db, err := mysqldb.Open(mysqldb.Config{Host: "127.0.0.1", Port: 1, User: "u", Database: "d", PoolSize: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var serverErr *mysql.MySQLError
	if err := db.PingContext(context.WithoutCancel(t.Context())); err == nil || errors.As(err, &serverErr) {
		t.Fatalf("PingContext = %v, want a connection error", err)
	}
}

// The error must not be ErrCommitUnknown: the caller may retry, because the work was rolled back.
func TestDeadlineBeforeTheCommitIsNotAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	exec(t, db, "CREATE TABLE a (id INT PRIMARY KEY)")
	ctx, cancel := context.WithCancel(t.Context())
	err := mysqldb.InTx(ctx, db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO a VALUES (1)"); err != nil {
			return err
		}
		cancel() // the deadline passes during the work
		return nil
	})
	if errors.Is(err, mysqldb.ErrCommitUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("InTx = %v, want Canceled without ErrCommitUnknown", err)
	}
	var rows int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM a").Scan(&rows); err != nil || rows != 0 {
		t.Errorf("rows = %d, error %v, want 0", rows, err)
	}
}
