package mysql

import (
	"context"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// Beats returns when each of the connectors last beat with everything before it applied. Connectors that never did are
// missing.
func (s *Store) Beats(ctx context.Context) (map[string]time.Time, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT connector, beat_at FROM cdc_progress WHERE connector LIKE 'source-%'")
	if mysqldb.IsNoTable(err) {
		return nil, errors.New("table cdc_progress is missing: run `cdc migrate`")
	}
	if err != nil {
		return nil, mysqldb.Wrap("read progress", err)
	}
	defer rows.Close()
	beats := map[string]time.Time{}
	for rows.Next() {
		var connector string
		var millis int64
		if err := rows.Scan(&connector, &millis); err != nil {
			return nil, mysqldb.Wrap("read progress", err)
		}
		beats[connector] = time.UnixMilli(millis).UTC()
	}
	return beats, mysqldb.Wrap("read progress", rows.Err())
}
