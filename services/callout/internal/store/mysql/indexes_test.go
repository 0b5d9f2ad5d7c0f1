package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

func TestThePlatformsTablesHaveTheIndexes(t *testing.T) {
	t.Parallel()
	db := storetest.NewDatabase(t)
	if missing, err := mysqldb.MissingIndexes(t.Context(), db, mysql.LegacyIndexes()); err != nil || len(missing) > 0 {
		t.Errorf("%v %q", err, missing)
	}
}
