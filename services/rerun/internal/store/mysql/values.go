package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/authn"
)

// PresentValues implements listing.Reports.
func (s *Store) PresentValues(ctx context.Context, scope authn.LabScope, reportID int64) (map[int]string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT v.`index`, v.value FROM reportValues v"+
		" JOIN labReportRelation r ON r.id = v.labReportId_id WHERE r.id = ? AND r.labId_id = ?", reportID, scope.LabID())
	if err != nil {
		return nil, wrap("read report values", err)
	}
	defer rows.Close()
	present, shared := map[int]string{}, map[int]bool{}
	for rows.Next() {
		var index int
		var value sql.NullString
		if err := rows.Scan(&index, &value); err != nil {
			return nil, wrap("read report values", err)
		}
		if _, ok := present[index]; ok {
			shared[index] = true
		}
		present[index] = value.String
	}
	for index := range shared {
		delete(present, index)
	}
	return present, wrap("read report values", rows.Err())
}
