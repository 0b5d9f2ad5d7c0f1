package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/store/enginetest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
)

func TestThePlatformsTablesHaveTheIndexes(t *testing.T) {
	t.Parallel()
	db := enginetest.Database(t)
	if missing, err := mysqldb.MissingIndexes(t.Context(), db, mysql.LegacyIndexes()); err != nil || len(missing) > 0 {
		t.Errorf("%v %q", err, missing)
	}
}
