package mysql

import (
	"context"
	"database/sql"
	"strings"

	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

const (
	maxRowsAtOnce  = 500     // keeps the time for parsing small compared with that for writing
	maxBytesAtOnce = 4 << 20 // bytes of values; far below the usual max_allowed_packet
)

func newStatements(withName bool) *statements {
	s := &statements{withName: withName}
	for _, c := range columns() {
		if c.kind == first || withName {
			s.columns = append(s.columns, c)
		}
	}
	return s
}

// names returns the column names in order, for a SELECT.
func (s *statements) names() string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
		if c.name == "date_of_birth" {
			names[i] = "CAST(date_of_birth AS CHAR)"
		}
	}
	return strings.Join(names, ", ")
}

// read returns the rows of user_meta that match condition.
func (s *statements) read(ctx context.Context, q querier, condition string, args []any) ([]projection.Row, error) {
	var list []projection.Row
	targets := make([]any, len(s.columns))
	err := each(
		ctx,
		q,
		"read user_meta",
		"SELECT "+s.names()+" FROM user_meta "+condition,
		args,
		func(rows *sql.Rows) error {
			var row projection.Row
			for i, c := range s.columns {
				targets[i] = c.into(&row)
			}
			if err := rows.Scan(targets...); err != nil {
				return err
			}
			list = append(list, row)
			return nil
		},
	)
	return list, err
}

// written is a row to write, with the time of the newest change in it.
type written struct {
	row        projection.Row
	sourceTime int64
}

// write writes all columns of rows, in statements of limited size.
func (s *statements) write(ctx context.Context, tx *sql.Tx, rows []written) error {
	head, one, tail := s.upsert()
	var text strings.Builder
	var args []any
	size, count := 0, 0
	flush := func() error {
		_, err := tx.ExecContext(ctx, text.String()+tail, args...)
		text.Reset()
		args, size, count = args[:0], 0, 0
		return wrap("write user_meta", err)
	}
	for i := range rows {
		if count == 0 {
			text.WriteString(head)
		} else {
			text.WriteString(", ")
		}
		text.WriteString(one)
		for _, c := range s.columns {
			v := c.value(&rows[i].row)
			if t, ok := v.(string); ok {
				size += len(t)
			}
			args = append(args, v)
		}
		args = append(args, rows[i].sourceTime)
		if count++; count == maxRowsAtOnce || size >= maxBytesAtOnce || i == len(rows)-1 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// upsert returns the parts of the statement. It never inserts, because the row exists and is locked. source_ts_ms never
// decreases: a computation without an event has no time.
func (s *statements) upsert() (head, one, tail string) {
	names := make([]string, len(s.columns))
	updates := make([]string, 0, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
		if c.name != "user_id" {
			updates = append(updates, c.name+"=VALUES("+c.name+")")
		}
	}
	updates = append(updates, "source_ts_ms=GREATEST(source_ts_ms, VALUES(source_ts_ms))")
	head = "INSERT INTO user_meta (" + strings.Join(names, ", ") + ", source_ts_ms) VALUES "
	return head, "(" + placeholders(len(names)+1) + ")", " ON DUPLICATE KEY UPDATE " + strings.Join(updates, ", ")
}
