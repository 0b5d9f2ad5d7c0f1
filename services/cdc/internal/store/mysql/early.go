package mysql

import (
	"context"
	"database/sql"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
)

// early returns the targets whose events are newer than the sources: a row is missing, older, or not deleted yet. Most
// rows were already read with the sources; the others, which were moved or deleted since, are read by id.
func early(
	ctx context.Context, q querier, targets []materialize.Target, sources *sourceRows,
) ([]materialize.Target, error) {
	unread := map[string][]any{}
	for _, t := range targets {
		for _, seen := range t.Seen {
			if _, ok := sources.updated[rowKey{seen.Table, seen.RowID}]; !ok && !seen.Gone {
				unread[seen.Table] = append(unread[seen.Table], seen.RowID)
			}
		}
	}
	if err := lookUp(ctx, q, unread, sources.updated); err != nil {
		return nil, err
	}
	var late []materialize.Target
	for _, t := range targets {
		for _, seen := range t.Seen {
			if ahead(seen, sources.updated) {
				late = append(late, t)
				break
			}
		}
	}
	return late, nil
}

// ahead reports whether an event is newer than its row in the table.
func ahead(seen materialize.Seen, updated map[rowKey]int64) bool {
	at, there := updated[rowKey{seen.Table, seen.RowID}]
	if seen.Gone {
		return there && at <= seen.UpdatedOn.UnixMicro() // a newer row was inserted after the delete
	}
	return !there || (!seen.UpdatedOn.IsZero() && at < seen.UpdatedOn.UnixMicro())
}

func lookUp(ctx context.Context, q querier, ids map[string][]any, updated map[rowKey]int64) error {
	for _, table := range []string{change.UserDetails, change.Billing, change.LabReportRelation} {
		if len(ids[table]) == 0 {
			continue
		}
		query := "SELECT id, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', updatedOn) FROM " + table + " WHERE id IN (" + placeholders(
			len(ids[table])) + ")"
		err := each(ctx, q, "look up "+table, query, ids[table], func(rows *sql.Rows) error {
			var id int64
			var at sql.NullInt64
			err := rows.Scan(&id, &at)
			updated[rowKey{table, id}] = at.Int64
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
