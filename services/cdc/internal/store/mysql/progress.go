package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/services/cdc/connectors"
)

// The single row of cdc_freshness combines the two steps of the pipeline. A heartbeat of source-existing becomes the
// candidate once all changes before it are in user_meta. It stays until the index has all changes before a heartbeat of
// source-projection that is younger than that moment. Then everything before the candidate can be found by searches.
// All times are of the database's clock, like those of the heartbeats.
const (
	now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000"

	applied = "INSERT INTO cdc_progress (connector, beat_at, applied_at) VALUES (?, ?, " + now + ") ON DUPLICATE KEY UPDATE" +
		" beat_at = GREATEST(beat_at, VALUES(beat_at)), applied_at = GREATEST(applied_at, VALUES(applied_at))"
	// MySQL evaluates assignments from left to right, so candidate_at, which marks an existing candidate, is assigned
	// last.
	candidate = "INSERT INTO cdc_freshness (id, complete_at, candidate_at, candidate_applied_at) VALUES (1, 0, ?, " + now + ")" +
		" ON DUPLICATE KEY UPDATE" +
		" candidate_applied_at = IF(candidate_at = 0, VALUES(candidate_applied_at), candidate_applied_at)," +
		" candidate_at = IF(candidate_at = 0, VALUES(candidate_at), candidate_at)"
	complete = "UPDATE cdc_freshness SET complete_at = GREATEST(complete_at, candidate_at), candidate_at = 0" +
		" WHERE id = 1 AND candidate_at > 0 AND candidate_applied_at <= ?"
)

// Applied records that everything before a connector's heartbeat at beatAt was applied. Heartbeats may be repeated and
// out of order, because stored times only increase.
func (s *Store) Applied(ctx context.Context, connector string, beatAt time.Time) error {
	if _, err := s.db.ExecContext(ctx, applied, connector, beatAt.UnixMilli()); err != nil {
		return s.fault(ctx, wrap("record progress", err))
	}
	next := candidate
	if connector == connectors.Projection {
		next = complete
	}
	_, err := s.db.ExecContext(ctx, next, beatAt.UnixMilli())
	return s.fault(ctx, wrap("record freshness", err))
}

// lateAfter is many times the usual duration of a change through the pipeline.
const lateAfter = 15 * time.Second

// Late reports whether the index may lack changes older than lateAfter.
func (s *Store) Late(ctx context.Context) (late bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM cdc_freshness WHERE id = 1 AND complete_at > "+now+" - ?)",
		lateAfter.Milliseconds()).Scan(&late)
	return late, s.fault(ctx, wrap("read freshness", err))
}

// reconcileCursor is the name of the cursor with the last compared laboratory.
const reconcileCursor = "reconcile"

const keepCursor = "INSERT INTO cdc_cursor (name, position) VALUES (?, ?) ON DUPLICATE KEY UPDATE position = VALUES(position)"

func (s *Store) Turn(ctx context.Context) (int64, error) {
	var lab int64
	err := s.db.QueryRowContext(ctx, "SELECT position FROM cdc_cursor WHERE name = ?", reconcileCursor).Scan(&lab)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return lab, s.fault(ctx, wrap("read cursor", err))
}

func (s *Store) SetTurn(ctx context.Context, lab int64) error {
	_, err := s.db.ExecContext(ctx, keepCursor, reconcileCursor, lab)
	return s.fault(ctx, wrap("keep cursor", err))
}

// stampPrefix is the prefix of cursor names for partitions in which the consumer group has committed a stamped offset.
const stampPrefix = "stamped:"

func (s *Store) Stamped(ctx context.Context, partition string) (stamped bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM cdc_cursor WHERE name = ?)", stampPrefix+partition).Scan(&stamped)
	return stamped, s.fault(ctx, wrap("read a stamp", err))
}

func (s *Store) SetStamped(ctx context.Context, partition string) error {
	_, err := s.db.ExecContext(ctx, keepCursor, stampPrefix+partition, 1)
	return s.fault(ctx, wrap("keep a stamp", err))
}
