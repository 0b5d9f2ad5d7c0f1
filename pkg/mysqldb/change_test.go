package mysqldb_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

func TestChangeIsAtomic(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	deadlock := &mysql.MySQLError{Number: 1213, Message: "deadlock"}
	for name, c := range map[string]struct {
		load, decide, apply error // errors of the first attempt
		want                string
	}{
		"success":      {nil, nil, nil, "decision 1, <nil>, 1 stored, 1 attempts"},
		"load fails":   {broken, nil, nil, "decision 0, broken, 0 stored, 1 attempts"},
		"decide fails": {nil, broken, nil, "decision 0, broken, 0 stored, 1 attempts"},
		"apply fails":  {nil, nil, broken, "decision 0, broken, 0 stored, 1 attempts"},
		"deadlock":     {nil, nil, deadlock, "decision 1, <nil>, 1 stored, 2 attempts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := mysqltest.New(t)
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE item (id INT PRIMARY KEY)"); err != nil {
				t.Fatal(err)
			}
			attempts := 0
			first := func(err error) error {
				if attempts > 1 {
					return nil
				}
				return err
			}
			stored := func(q mysqldb.Querier) (n int) {
				if err := q.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM item").Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			decision, err := mysqldb.Change(t.Context(), db,
				func(tx *sql.Tx) (int, error) { attempts++; return stored(tx), first(c.load) },
				func(items int) (int, error) { return items + 1, first(c.decide) },
				func(tx *sql.Tx, id int) error {
					_, err := tx.ExecContext(t.Context(), "INSERT INTO item VALUES (?)", id)
					return errors.Join(err, first(c.apply))
				})
			if got := fmt.Sprintf("decision %d, %v, %d stored, %d attempts", decision, err, stored(db), attempts); got != c.want {
				t.Errorf("Change = %s, want %s", got, c.want)
			}
		})
	}
}
