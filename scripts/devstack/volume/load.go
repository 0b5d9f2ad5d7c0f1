package volume

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	batchUsers   = 1000
	rowsPerQuery = 500
	reportEvery  = 2 * time.Second
)

// Load writes the generated rows into the stack's database, one transaction per batch. It is idempotent: loading again
// replaces the same rows. now is used for the progress lines only.
func Load(ctx context.Context, db *sql.DB, c Config, progress io.Writer, now func() time.Time) error {
	if err := c.Validate(); err != nil {
		return err
	}
	g := newGenerator(c)
	if err := write(ctx, db, g.laboratories()); err != nil {
		return err
	}
	batches := g.ahead(ctx)
	begin, reported, total := now(), now(), 0
	for batch := range batches {
		if err := write(ctx, db, batch.rows); err != nil {
			return err
		}
		total += batch.rows.count()
		if now().Sub(reported) >= reportEvery {
			reported = now()
			fmt.Fprintln(progress, progressLine(batch.until, c.Users, total, reported.Sub(begin)))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	fmt.Fprintf(progress, "%d patients in %d laboratories: %d rows in %.1f s\n", c.Users, c.Labs, total, now().Sub(begin).Seconds())
	return nil
}

type batch struct {
	rows  Rows
	until int
}

// ahead generates the next batches while the database writes. The channel is closed at the end.
func (g *generator) ahead(ctx context.Context) <-chan batch {
	out := make(chan batch, 2)
	go func() {
		defer close(out)
		for from := 0; from < g.config.Users; from += batchUsers {
			until := min(from+batchUsers, g.config.Users)
			select {
			case out <- batch{g.patients(from, until), until}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func progressLine(done, all, rows int, elapsed time.Duration) string {
	left := time.Duration(float64(elapsed) / float64(done) * float64(all-done))
	return fmt.Sprintf("%d of %d patients (%d %%), %.0f rows/s, about %.0f s left",
		done, all, 100*done/all, float64(rows)/elapsed.Seconds(), left.Seconds())
}

func (r Rows) count() int {
	n := 0
	for _, rows := range r {
		n += len(rows)
	}
	return n
}

func write(ctx context.Context, db *sql.DB, rows Rows) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // without effect after Commit
	for _, table := range tableOrder() {
		for todo := rows[table]; len(todo) > 0; {
			n := min(rowsPerQuery, len(todo))
			if err := replace(ctx, tx, table, todo[:n]); err != nil {
				return err
			}
			todo = todo[n:]
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func replace(ctx context.Context, tx *sql.Tx, table string, rows [][]any) error {
	columns := tableColumns()[table]
	marks := "(" + strings.TrimSuffix(strings.Repeat("?,", len(columns)), ",") + ")"
	statement := "REPLACE INTO `" + table + "` (`" + strings.Join(columns, "`,`") + "`) VALUES " +
		strings.TrimSuffix(strings.Repeat(marks+",", len(rows)), ",")
	args := make([]any, 0, len(rows)*len(columns))
	for _, row := range rows {
		args = append(args, row...)
	}
	if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
		return fmt.Errorf("write %s: %w", table, err)
	}
	return nil
}
