package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/mysqldb"
)

func TestErrorsOfTheDatabaseHaveTheDocumentedReasons(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("commit: %w: %w", mysqldb.ErrCommitUnknown, mysql.ErrInvalidConn)
	for name, c := range map[string]struct {
		err    error
		kind   apperr.Kind
		reason string
	}{
		"no row":                    {sql.ErrNoRows, apperr.NotFound, "REPORT_NOT_FOUND"},
		"a lost connection":         {mysql.ErrInvalidConn, apperr.Unavailable, "DATABASE_DOWN"},
		"a lost answer to a commit": {lost, apperr.Unavailable, "OUTCOME_UNKNOWN"},
	} {
		got, ok := apperr.From(wrap("work", c.err))
		if !ok || got.Kind != c.kind || got.Reason != c.reason {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if !errors.Is(wrap("work", lost), mysqldb.ErrCommitUnknown) {
		t.Error("who logs a failure cannot tell that its outcome is unknown")
	}
}
