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

// Listed reports whether the platform's list of users permits the author to edit the report. Doctors who are not of a
// department may edit reports of their own bills only.
func (l *locked) Listed(ctx context.Context, a session.Author) (listed bool, err error) {
	if a.IsDoctor {
		err := l.tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM doctorDetails WHERE id = ? AND labId_id = ?"+
			" AND (docType = 0 OR id = ?))", a.ID, l.scope.LabID(), l.report.DoctorID).Scan(&listed)
		return listed, mysqldb.Wrap("read list of doctors", err)
	}
	permissions, _, err := l.permissions(ctx, "SELECT permissions FROM labUser WHERE id = ? AND labId_id = ?", a.ID)
	return slices.Contains(permissions, session.PermissionEdit) ||
		slices.Contains(permissions, session.PermissionTakeOver), err
}

func (l *locked) Withholds(ctx context.Context, userID int64, permission string) (bool, error) {
	permissions, says, err := l.permissions(ctx, "SELECT permissions FROM labUser WHERE id = ? AND labId_id = ?", userID)
	if err != nil || says {
		return says && !slices.Contains(permissions, permission), err
	}
	var removed bool // some installations have no list of users at all
	err = l.tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM labUser WHERE labId_id = ?)"+
		" AND NOT EXISTS (SELECT 1 FROM labUser WHERE id = ? AND labId_id = ?)", l.scope.LabID(), userID, l.scope.LabID()).
		Scan(&removed)
	return removed, mysqldb.Wrap("read list of users", err)
}

// permissions returns the permissions of a person. says is false if the list of users has none or they cannot be
// parsed.
func (l *locked) permissions(ctx context.Context, query string, id int64) (list []string, says bool, err error) {
	var text sql.NullString
	err = l.tx.QueryRowContext(ctx, query, id, l.scope.LabID()).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !text.Valid {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, mysqldb.Wrap("read permissions", err)
	}
	if err := json.Unmarshal([]byte(text.String), &list); err != nil {
		return nil, false, nil //nolint:nilerr // cannot be parsed: treated as absent
	}
	return list, true, nil
}
