package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// pipeline returns the principal for the pipeline's own work, which has no user. All scopes in this package are derived
// from it.
func pipeline() authn.Principal { return authn.Principal{Kind: authn.Service, Caller: "cdc"} }

// Laboratories returns all laboratories in ascending order: those of the platform, and those of all current and
// previous patients in the sources or in user_meta.
func (s *Store) Laboratories(ctx context.Context) ([]authn.LabScope, error) {
	ids, err := s.ids(ctx, "read laboratories", "SELECT id FROM labs UNION SELECT DISTINCT labId_id FROM userDetails"+
		" UNION SELECT DISTINCT lab_id FROM user_meta ORDER BY 1")
	if err != nil {
		return nil, err
	}
	var scopes []authn.LabScope
	for _, id := range ids {
		if scope, err := pipeline().Scope(id); err == nil { // fails for 0, which is the laboratory of a stub
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}

// Laboratory returns the scope of one laboratory for the pipeline's own work.
func Laboratory(labID int64) (authn.LabScope, error) { return pipeline().Scope(labID) }

// SourceUserIDs returns up to limit ids of a laboratory's patients in userDetails, above after and in ascending order.
// It includes patients without a row in user_meta.
func (s *Store) SourceUserIDs(ctx context.Context, scope authn.LabScope, after int64, limit int) ([]int64, error) {
	return s.ids(ctx, "read patients", "SELECT id FROM userDetails WHERE labId_id = ? AND id > ? ORDER BY id LIMIT ?",
		scope.LabID(), after, limit)
}

// UserIDs returns up to limit ids of patients in userDetails or user_meta, above after and in ascending order. Deleted
// patients are only in user_meta.
func (s *Store) UserIDs(ctx context.Context, after int64, limit int) ([]int64, error) {
	return s.ids(ctx, "read patients", "(SELECT id FROM userDetails WHERE id > ? ORDER BY id LIMIT ?)"+
		" UNION (SELECT user_id FROM user_meta WHERE user_id > ? ORDER BY user_id LIMIT ?) ORDER BY 1 LIMIT ?", after, limit, after, limit, limit)
}

// Members returns the ids in userIDs that are or were patients of the laboratory, so that its callers may name them.
func (s *Store) Members(ctx context.Context, scope authn.LabScope, userIDs []int64) ([]int64, error) {
	if len(userIDs) == 0 {
		return nil, nil
	}
	in := placeholders(len(userIDs))
	args := append([]any{scope.LabID()}, anys(userIDs)...)
	args = append(append(args, scope.LabID(), scope.LabID()), anys(userIDs)...)
	return s.ids(ctx, "read patients", "SELECT id FROM userDetails WHERE labId_id = ? AND id IN ("+in+")"+
		" UNION SELECT user_id FROM user_meta WHERE (lab_id = ? OR JSON_CONTAINS(COALESCE(former_lab_ids, '[]'), CAST(? AS CHAR)))"+
		" AND user_id IN ("+in+") ORDER BY 1", args...)
}

// PatientOf returns the patient of a row of userDetails, billing or labReportRelation, or 0 if there is none.
func (s *Store) PatientOf(ctx context.Context, table string, rowID int64) (int64, error) {
	column, known := map[string]string{
		change.UserDetails: "id", change.Billing: "userDetailsId_id", change.LabReportRelation: "userDetailsId_id",
	}[table]
	if !known {
		return 0, fmt.Errorf("table %s has no patients", table)
	}
	ids, err := s.ids(ctx, "read patient", "SELECT "+column+" FROM "+table+" WHERE id = ?", rowID)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

func (s *Store) ids(ctx context.Context, operation, query string, args ...any) ([]int64, error) {
	var ids []int64
	err := each(ctx, s.db, operation, query, args, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, s.fault(ctx, err)
}
