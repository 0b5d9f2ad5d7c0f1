package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Listed reports whether the platform's list of users says that the author may edit reports.
func (l *locked) Listed(ctx context.Context, a session.Author) (bool, error) {
	query := "SELECT permissions FROM labUser WHERE id = ? AND labId_id = ?"
	if a.IsDoctor {
		query = "SELECT '[\"" + session.PermissionEdit + "\"]' FROM doctorDetails WHERE id = ? AND labId_id = ?"
	}
	var text sql.NullString
	err := l.tx.QueryRowContext(ctx, query, a.ID, l.scope.LabID()).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !text.Valid {
		return false, nil
	}
	if err != nil {
		return false, mysqldb.Wrap("read permissions", err)
	}
	var permissions []string
	if err := json.Unmarshal([]byte(text.String), &permissions); err != nil {
		return false, nil //nolint:nilerr // of another shape: it does not say
	}
	return slices.Contains(permissions, session.PermissionEdit) ||
		slices.Contains(permissions, session.PermissionTakeOver), nil
}
