package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

func TestThePlatformsTablesHaveTheIndexes(t *testing.T) {
	t.Parallel()
	db := template.New(t)
	if missing, err := mysqldb.MissingIndexes(t.Context(), db, mysql.SourceIndexes()); err != nil || len(missing) > 0 {
		t.Errorf("%v %q", err, missing)
	}
}
