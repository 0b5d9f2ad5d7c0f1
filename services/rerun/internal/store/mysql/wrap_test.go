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
		"no row":                      {sql.ErrNoRows, apperr.NotFound, "REPORT_NOT_FOUND"},
		"a lost connection":           {mysql.ErrInvalidConn, apperr.Unavailable, "DATABASE_DOWN"},
		"a lost response to a commit": {lost, apperr.Unavailable, "OUTCOME_UNKNOWN"},
	} {
		got, ok := apperr.From(wrap("work", c.err))
		if !ok || got.Kind != c.kind || got.Reason != c.reason {
			t.Errorf("%s: %+v, want kind %d and %s", name, got, c.kind, c.reason)
		}
	}
	if !errors.Is(wrap("work", lost), mysqldb.ErrCommitUnknown) {
		t.Error("the wrapped error is not ErrCommitUnknown, so the log cannot say that the outcome is unknown")
	}
}
