package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
)

// connect opens a pool on the fixture's database with changed DSN parameters, such as the user.
func (b *fixture) connect(t testing.TB, change func(*driver.Config)) *sql.DB {
	t.Helper()
	config, err := driver.ParseDSN(b.dsn)
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	connector, err := mysqldb.Connector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// user creates a user with the given privileges on the fixture's database.
func (b *fixture) user(t testing.TB, privileges string) func(*driver.Config) {
	t.Helper()
	var database string
	if err := b.db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&database); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(database, "labtest_")
	b.exec(t, "CREATE USER `"+name+"`@`%` IDENTIFIED BY 'x'")
	t.Cleanup(func() { _, _ = b.db.ExecContext(background(t), "DROP USER `"+name+"`@`%`") })
	b.exec(t, "GRANT "+privileges+" ON `"+database+"`.* TO `"+name+"`@`%`")
	return func(c *driver.Config) { c.User, c.Passwd = name, "x" }
}

func wantOperator(t *testing.T, err error, advice string) {
	t.Helper()
	var fault *outcome.Fault
	if !errors.As(err, &fault) || !fault.Operator || !strings.Contains(err.Error(), advice) {
		t.Fatalf("got %v, want an operator's fault that says %q", err, advice)
	}
}

func wantRetry(t *testing.T, err error) {
	t.Helper()
	var fault *outcome.Fault
	if !errors.As(err, &fault) || fault.Operator {
		t.Fatalf("got %v, want a fault that passes", err)
	}
}

func TestAMissingTableIsTheOperators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "DROP TABLE user_meta")
	_, err := b.store.Recompute(t.Context(), targets(1))
	wantOperator(t, err, "cdc migrate")
}

func TestAMissingColumnIsTheOperators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "ALTER TABLE billing DROP COLUMN orderNumber, DROP KEY ix_billing_lab_order")
	_, err := b.store.Recompute(t.Context(), targets(1))
	wantOperator(t, err, "a column is missing")
}

func TestAMissingGrantIsTheOperators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store, _ := b.over(b.connect(t, b.user(t, "SELECT")), "")
	_, err := store.Recompute(t.Context(), targets(1))
	wantOperator(t, err, "grant it")
	wrong, _ := b.over(b.connect(t, func(c *driver.Config) { c.User, c.Passwd = "stranger", "x" }), phase.Running)
	_, err = wrong.Recompute(t.Context(), targets(1))
	wantOperator(t, err, "grant it")
}

// Not parallel, because read_only applies to the whole server. It does not affect the other tests, which run as root.
func TestAReadOnlyServerIsTheOperators(t *testing.T) {
	b := setup(t)
	b.patient(t, 1, 12)
	db := b.connect(t, b.user(t, "ALL"))
	store, _ := b.over(db, "")
	b.exec(t, "SET GLOBAL read_only = 1")
	t.Cleanup(func() { _, _ = b.db.ExecContext(background(t), "SET GLOBAL read_only = 0") })
	_, err := store.Recompute(t.Context(), targets(1))
	wantOperator(t, err, "read-only")
	b.exec(t, "SET GLOBAL read_only = 0")
	if got, err := store.Recompute(t.Context(), targets(1)); err != nil || got.Written != 1 {
		t.Fatalf("afterwards: %+v, %v", got, err)
	}
}

func TestAnOutageIsRetried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store, _ := b.over(b.connect(t, func(c *driver.Config) { c.Addr = "127.0.0.1:1" }), phase.Running)
	_, err := store.Recompute(t.Context(), targets(1))
	wantRetry(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.store.Recompute(ctx, targets(1))
	wantRetry(t, err)
}

// TestALockThatIsHeldIsRetried locks a patient's row for longer than the server's lock timeout. The attempts must end
// with a temporary fault.
func TestALockThatIsHeldIsRetried(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.recompute(t, targets(1)...)
	holder, err := b.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), "SELECT * FROM user_meta WHERE user_id = 1 FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	db := b.connect(t, func(c *driver.Config) { c.Params = map[string]string{"innodb_lock_wait_timeout": "1"} })
	store, _ := b.over(db, phase.Running)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err = store.Recompute(ctx, targets(1))
	wantRetry(t, err)
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Recompute(t.Context(), targets(1)); err != nil {
		t.Fatal(err)
	}
}

// TestAValueThatDoesNotFitIsPoison checks that a value that does not fit its column affects only its row, and is not
// contained in the error.
func TestAValueThatDoesNotFitIsPoison(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ddl, reason, column string }{
		"too long":     {"MODIFY full_name VARCHAR(3) NOT NULL DEFAULT ''", "too_long", "full_name"},
		"out of range": {"MODIFY last_bill_time INT NULL", "out_of_range", "last_bill_time"},
		"no date":      {"MODIFY full_name DATE NULL", "wrong_value", "full_name"},
		"no number":    {"MODIFY contact INT NULL", "wrong_value", "contact"},
		"no UTF-8":     {"MODIFY full_name VARCHAR(400) CHARACTER SET latin1", "wrong_value", "full_name"},
		"a check":      {"ADD CONSTRAINT c CHECK (user_id <> 1)", "wrong_json", ""},
		"not null":     {"MODIFY date_of_birth DATE NOT NULL DEFAULT '1990-01-01'", "constraint", "date_of_birth"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.patient(t, 1, 12)
			b.bill(t, 5, 1, 12)
			b.exec(t, "UPDATE userDetails SET firstName = 'Ашa', dateOfBirth = NULL")
			b.recompute(t, targets(2)...)
			b.exec(t, "INSERT INTO user_meta (user_id, date_of_birth) VALUES (1, '1990-01-01') ON DUPLICATE KEY UPDATE user_id = 1")
			if name == "a check" {
				b.exec(t, "DELETE FROM user_meta")
			}
			b.exec(t, "UPDATE user_meta SET date_of_birth = '1990-01-01', full_name = IF('"+name+"' = 'no date', '1990-01-01', ''), contact = '1'")
			b.exec(t, "ALTER TABLE user_meta "+c.ddl)
			_, err := b.store.Recompute(t.Context(), targets(1))
			var poison *materialize.Poison
			if !errors.As(err, &poison) || poison.Reason != c.reason || !strings.Contains(err.Error(), c.column) {
				t.Fatalf("got %v, want poison %s in %s", err, c.reason, c.column)
			}
			if strings.Contains(err.Error(), "Аш") || strings.Contains(err.Error(), "R1") {
				t.Fatalf("the error quotes the row: %v", err)
			}
		})
	}
}

// TestASourceRowThatCannotBeReadIsPoison stores an unreadable value in a source column of an unexpected type. Only its
// patient may be affected.
func TestASourceRowThatCannotBeReadIsPoison(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 1, 12)
	b.exec(t, "ALTER TABLE userDetails MODIFY branchId VARCHAR(9), MODIFY contact VARCHAR(20) NULL")
	for _, broken := range []string{"branchId = 'Asha'", "contact = NULL"} {
		b.exec(t, "UPDATE userDetails SET branchId = NULL, contact = ''")
		b.exec(t, "UPDATE userDetails SET "+broken)
		_, err := b.store.Recompute(t.Context(), targets(1))
		var poison *materialize.Poison
		if !errors.As(err, &poison) || poison.Reason != "unreadable" || strings.Contains(err.Error(), "Asha") {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

// TestTheColumnsMayChangeUnderARunningService drops and adds the columns of personal data while the service runs. After
// the first failed statement, the store must read the schema again.
func TestTheColumnsMayChangeUnderARunningService(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.patient(t, 1, 12)
	b.recompute(t, targets(1)...)
	b.exec(t, dropPerson)
	_, err := b.store.Recompute(t.Context(), targets(1))
	wantRetry(t, err)
	b.bill(t, 5, 1, 12)
	b.recompute(t, targets(1)...)
	if now, err := b.watch.Phase(t.Context()); err != nil || now != phase.Migration {
		t.Fatalf("phase %q, %v", now, err)
	}
	b.exec(t, addPerson)
	if now, changed, err := b.watch.Check(t.Context()); err != nil || now != phase.Running || !changed {
		t.Fatalf("phase %q, changed %v, %v", now, changed, err)
	}
	b.recompute(t, targets(1)...)
	b.same(t)
}
