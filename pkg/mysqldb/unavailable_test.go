package mysqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestIsUnavailable(t *testing.T) {
	t.Parallel()
	server := func(number uint16) error { return fmt.Errorf("read bill: %w", &mysql.MySQLError{Number: number}) }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":                   {nil, false},
		"a bad connection":          {driver.ErrBadConn, true},
		"a broken connection":       {mysql.ErrInvalidConn, true},
		"a closed connection":       {sql.ErrConnDone, true},
		"no server listens":         {fmt.Errorf("begin: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), true},
		"too many connections":      {server(1040), true},
		"too many of this user":     {server(1203), true},
		"shutting down":             {server(1053), true},
		"a lock timeout":            {server(1205), true},
		"a deadlock that stays":     {server(1213), true},
		"a replica":                 {server(1290), true},
		"a full disk":               {server(1021), true},
		"a full disk's file":        {server(1026), true},
		"a full disk's table":       {server(1114), true},
		"a lost commit":             {fmt.Errorf("commit: %w: %w", mysqldb.ErrCommitUnknown, mysql.ErrInvalidConn), false},
		"the caller's deadline":     {fmt.Errorf("read: %w", context.DeadlineExceeded), false},
		"the caller canceled":       {context.Canceled, false},
		"a duplicate":               {server(1062), false},
		"a wrong statement":         {server(1064), false},
		"a missing row":             {sql.ErrNoRows, false},
		"a value that does not fit": {server(1406), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mysqldb.IsUnavailable(c.err); got != c.want {
				t.Fatalf("IsUnavailable(%v) = %v, want %v", c.err, got, c.want)
			}
		})
	}
}

func TestUnreachableServerAndKilledConnectionAreUnavailable(t *testing.T) {
	t.Parallel()
	unreachable, err := mysqldb.Open(mysqldb.Config{Host: "127.0.0.1", Port: 1, User: "u", Database: "d", PoolSize: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unreachable.Close()
	if err := unreachable.PingContext(t.Context()); !mysqldb.IsUnavailable(err) {
		t.Errorf("no server listens: error = %v, want unavailable", err)
	}
	db := mysqltest.New(t)
	err = mysqldb.InTx(t.Context(), db, func(tx *sql.Tx) error {
		var id int64
		if err := tx.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			return err
		}
		if _, err := db.ExecContext(t.Context(), "KILL CONNECTION ?", id); err != nil {
			return err
		}
		_, err := tx.ExecContext(t.Context(), "DO 1")
		return err
	})
	if !mysqldb.IsUnavailable(err) {
		t.Errorf("killed connection: error = %v, want unavailable", err)
	}
}

func TestSessionsWaitFiveSecondsForARowLock(t *testing.T) {
	t.Parallel()
	var seconds int
	if err := mysqltest.New(t).QueryRowContext(t.Context(), "SELECT @@innodb_lock_wait_timeout").Scan(&seconds); err != nil || seconds != 5 {
		t.Fatalf("innodb_lock_wait_timeout = %d, error %v, want 5", seconds, err)
	}
}

func TestLockedRowIsUnavailable(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	exec(t, db, "CREATE TABLE account (id INT PRIMARY KEY, n INT NOT NULL)")
	exec(t, db, "INSERT INTO account VALUES (1, 0)")
	holder, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	if _, err := holder.ExecContext(t.Context(), "UPDATE account SET n = 1"); err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "SET SESSION innodb_lock_wait_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "UPDATE account SET n = 2"); !mysqldb.IsUnavailable(err) {
		t.Fatalf("locked row: error = %v, want unavailable", err)
	}
}
