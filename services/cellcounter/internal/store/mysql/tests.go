package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cellcounter/internal/configure"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
)

const ownTests = "(t.labId_id = ? OR t.labId_id IS NULL)"

// Tests returns at most limit tests that have a report format and whose names contain name.
func (s *Store) Tests(ctx context.Context, owner mapping.Owner, name string, limit int) ([]configure.Test, error) {
	const mapped = "EXISTS (SELECT 1 FROM cell_counter_mappings m WHERE m.test_id = t.id AND m.lab_scope = ?)"
	const query = "SELECT t.id, t.testName, " + mapped + " AS own, " + mapped + " AS defaults FROM AllTests t" +
		" WHERE " + ownTests + " AND LOCATE(?, t.testName) > 0 AND EXISTS (SELECT 1 FROM ReportFormat f WHERE f.testId_id = t.id AND f.isDisabled = 0)" +
		" ORDER BY own OR defaults DESC, t.testName, t.id LIMIT ?"
	lab := owner.LabID()
	list, err := mysqldb.Collect(ctx, s.db, query, []any{lab, 0, lab, name, limit},
		func(row mysqldb.Row, t *configure.Test) error {
			err := row.Scan(&t.ID, &t.Name, &t.Own, &t.HasDefaults)
			t.Own = t.Own && !owner.AreDefaults()
			return err
		})
	return list, mysqldb.Wrap("read tests", err)
}

// Parameters returns the name of a test and its active parameters in their order.
func (s *Store) Parameters(
	ctx context.Context, testID int64, owner mapping.Owner,
) (name string, list []configure.Format, err error) {
	const test = "SELECT t.testName FROM AllTests t WHERE t.id = ? AND " + ownTests
	err = s.db.QueryRowContext(ctx, test, testID, owner.LabID()).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil, mapping.ErrNoTest
	}
	if err != nil {
		return "", nil, mysqldb.Wrap("read test", err)
	}
	const formats = "SELECT id, `index`, `order`, parameterName, unit FROM ReportFormat WHERE testId_id = ? AND isDisabled = 0" +
		" ORDER BY `order`, `index`"
	list, err = mysqldb.Collect(ctx, s.db, formats, []any{testID}, func(row mysqldb.Row, f *configure.Format) error {
		return row.Scan(&f.ID, &f.Index, &f.Order, &f.Name, &f.Unit)
	})
	return name, list, mysqldb.Wrap("read parameters", err)
}
