package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/mysql"
)

func TestThePlatformsTablesHaveTheIndexes(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	if err := legacydb.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if missing, err := mysqldb.MissingIndexes(t.Context(), db, mysql.LegacyIndexes()); err != nil || len(missing) > 0 {
		t.Errorf("%v %q", err, missing)
	}
}
