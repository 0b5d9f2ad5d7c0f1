package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// maxCounted limits the rows that are counted per kind. Every replica counts every few seconds, also after a long
// outage of a receiver, when the database is busy.
const maxCounted = 10_000

// backlog holds the values of the gauges of one kind.
type backlog struct {
	kind            string
	waiting, parked int64     // maxCounted + 1 means more
	oldest          time.Time // zero if nothing waits; with more rows than are counted, that of the rows due first
}

// backlog counts rows by index only, and reads one row of each kind for its age.
func (t Table) backlog(ctx context.Context, db *sql.DB) ([]backlog, error) {
	kinds, err := t.kinds(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("count %s: %w", t.name, err)
	}
	all := make([]backlog, 0, len(kinds))
	for _, kind := range kinds {
		b, err := t.count(ctx, db, kind)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", t.name, err)
		}
		all = append(all, b)
	}
	return all, nil
}

// kinds reads each kind with one index lookup, regardless of the number of rows.
func (t Table) kinds(ctx context.Context, db *sql.DB) ([]string, error) {
	var kinds []string
	for last := ""; ; {
		err := db.QueryRowContext(ctx, "SELECT kind FROM "+t.name+" WHERE kind > ? ORDER BY kind LIMIT 1", last).Scan(&last)
		if errors.Is(err, sql.ErrNoRows) {
			return kinds, nil
		}
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, last)
	}
}

func (t Table) count(ctx context.Context, db *sql.DB, kind string) (backlog, error) {
	b := backlog{kind: kind}
	const rows = " WHERE kind = ? AND available_at %s ? ORDER BY available_at, id LIMIT ?"
	var oldest sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT w.n, p.n, (SELECT created_at FROM "+t.name+" WHERE id = w.oldest)"+
		" FROM (SELECT COUNT(*) AS n, MIN(id) AS oldest FROM (SELECT id FROM "+t.name+fmt.Sprintf(rows, "<")+") r) w,"+
		" (SELECT COUNT(*) AS n FROM (SELECT id FROM "+t.name+fmt.Sprintf(rows, "=")+") r) p",
		kind, int64(parkedAt), maxCounted+1, kind, int64(parkedAt), maxCounted+1).Scan(&b.waiting, &b.parked, &oldest)
	if oldest.Valid {
		b.oldest = time.UnixMilli(oldest.Int64)
	}
	return b, err
}
