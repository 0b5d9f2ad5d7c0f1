package capture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The consumers have a database user with exactly the privileges that services/cdc/README.md lists. So a read-only
// server stops them as in production, and a privilege that the list lacks fails the test.
const (
	consumerUser     = "cdc_consumer"
	consumerPassword = "of-this-test"
)

func admitConsumers(db *sql.DB) error {
	user := "'" + consumerUser + "'@'%'"
	for _, statement := range []string{
		"CREATE USER IF NOT EXISTS " + user + " IDENTIFIED BY '" + consumerPassword + "'",
		"GRANT SELECT ON lab.* TO " + user,
		"GRANT INSERT, UPDATE, DELETE ON lab.user_meta TO " + user,
		"GRANT INSERT, UPDATE, DELETE ON lab.cdc_signal TO " + user,
		"GRANT INSERT, UPDATE, DELETE ON lab.cdc_progress TO " + user,
		"GRANT INSERT, UPDATE, DELETE ON lab.cdc_freshness TO " + user,
		"GRANT INSERT, UPDATE, DELETE ON lab.cdc_walk TO " + user,
		"GRANT INSERT, UPDATE, DELETE ON lab.cdc_cursor TO " + user,
	} {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("admit the consumers: %w", err)
		}
	}
	return nil
}

// readOnly makes the database refuse all writes except the administrator's, who runs the workload, as during a
// switch-over.
func readOnly(admin, consumer *sql.DB, d time.Duration) fault {
	return fault{"database read-only", func() error {
		if _, err := admin.Exec("SET GLOBAL read_only = ON"); err != nil {
			return err
		}
		if _, err := consumer.Exec("DELETE FROM cdc_progress WHERE connector = 'unknown'"); number(err) != errReadOnly {
			return fmt.Errorf("a consumer may write: %w", err)
		}
		rest(d)
		_, err := admin.Exec("SET GLOBAL read_only = OFF")
		return err
	}}
}

// deadlocks locks the rows that the consumers write in the opposite order, until a deadlock has made the database end a
// consumer's transaction.
func deadlocks(db *sql.DB, limit time.Duration) fault {
	return fault{"deadlocks", func() error {
		before, err := countDeadlocks(db)
		if err != nil {
			return err
		}
		own := 0
		for begin := time.Now(); time.Since(begin) < limit; {
			if err := lockDownwards(db); number(err) == errDeadlock {
				own++
			} else if err != nil && !passes(err) {
				return err
			}
			all, err := countDeadlocks(db)
			if err != nil {
				return err
			}
			if all-before > own {
				return nil
			}
		}
		return fmt.Errorf("no deadlock hit a consumer within %v", limit)
	}}
}

const (
	errDeadlock = 1213
	errReadOnly = 1290
)

func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

func countDeadlocks(db *sql.DB) (int, error) {
	var name string
	var n int
	err := db.QueryRow("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'").Scan(&name, &n)
	if errors.Is(err, sql.ErrNoRows) { // MySQL has another counter
		err = db.QueryRow("SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'").Scan(&n)
	}
	return n, err
}

// lockDownwards locks the upper half of the writers' patients and then the lower half; consumers lock upwards. It holds
// more locks than a consumer, so the database ends the consumer's transaction.
func lockDownwards(db *sql.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	const middle = writers * patientsEach / 2
	for _, span := range [][2]int{{middle + 1, math.MaxInt32}, {1, middle}} {
		if _, err := tx.ExecContext(ctx, "SELECT rev FROM user_meta WHERE user_id BETWEEN ? AND ? FOR UPDATE", span[0], span[1]); err != nil {
			return err
		}
		rest(30 * time.Millisecond)
	}
	return nil
}
