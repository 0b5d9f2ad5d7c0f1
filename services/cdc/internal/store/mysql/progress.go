package mysql

import (
	"context"
	"database/sql"
	"time"
)

// Beat is how far the consumer applied a connector's heartbeat.
type Beat struct {
	Connector string
	BeatAt    time.Time // when the connector beat
	AppliedAt time.Time // when the consumer had applied everything before it
}

// Applied records that everything before a connector's beat was applied. Beats may come twice and out of order: both
// times only rise.
func (s *Store) Applied(ctx context.Context, b Beat) error {
	_, err := s.db.ExecContext(
		ctx,
		"INSERT INTO cdc_progress (connector, beat_at, applied_at) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE"+
			" beat_at = GREATEST(beat_at, VALUES(beat_at)), applied_at = GREATEST(applied_at, VALUES(applied_at))",
		b.Connector,
		b.BeatAt.UnixMilli(),
		b.AppliedAt.UnixMilli(),
	)
	return s.fault(ctx, wrap("record progress", err))
}

// Progress returns the last beat of every connector that was recorded, by name.
func (s *Store) Progress(ctx context.Context) ([]Beat, error) {
	var beats []Beat
	err := each(
		ctx,
		s.db,
		"read progress",
		"SELECT connector, beat_at, applied_at FROM cdc_progress WHERE connector <> ? ORDER BY connector",
		[]any{walkRow},
		func(rows *sql.Rows) error {
			var name string
			var beat, applied int64
			err := rows.Scan(&name, &beat, &applied)
			beats = append(beats, Beat{Connector: name, BeatAt: time.UnixMilli(beat), AppliedAt: time.UnixMilli(applied)})
			return err
		},
	)
	return beats, s.fault(ctx, err)
}
