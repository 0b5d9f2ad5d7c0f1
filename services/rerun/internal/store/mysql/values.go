package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
)

func (s *Store) PresentValues(ctx context.Context, scope authn.LabScope, reportID int64) (map[int]string, error) {
	const query = "SELECT v.`index`, v.value FROM reportValues v" +
		" JOIN labReportRelation r ON r.id = v.labReportId_id WHERE r.id = ? AND r.labId_id = ?"
	present, shared := map[int]string{}, map[int]bool{}
	err := mysqldb.Each(ctx, s.db, query, []any{reportID, scope.LabID()}, func(rows *sql.Rows) error {
		var index int
		var value sql.NullString
		err := rows.Scan(&index, &value)
		if _, ok := present[index]; ok {
			shared[index] = true
		}
		present[index] = value.String
		return err
	})
	for index := range shared {
		delete(present, index)
	}
	return present, wrap("read report values", err)
}
