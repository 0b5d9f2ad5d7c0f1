// Package copied lets every process read settings that are stored as database rows. A copy in Redis makes the start of
// a process independent of the database.
package copied

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Copies is a key-value store shared by all processes.
type Copies interface {
	// Get returns nil for a key that was never set.
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
}

// Rows keeps the rows of one table up to date in this process. The rows must not contain secrets.
type Rows[T any] struct {
	Name   string // used in errors
	Key    string // key of the copy
	Copies Copies
	Read   func(ctx context.Context) ([]T, error)
	Use    func(rows []T) error // applies the current rows

	isKnown bool // the rows have been read at least once
}

// RunOnce reads and applies the rows. If the database fails, the last rows stay in use; if this process has none yet,
// it applies the copy, which holds the rows last read by any process. It is not safe for concurrent use.
func (r *Rows[T]) RunOnce(ctx context.Context) error {
	rows, err := r.Read(ctx)
	if err == nil {
		r.isKnown = true
		return errors.Join(r.Use(rows), r.keep(ctx, rows))
	}
	if r.isKnown {
		return err
	}
	raw, missing := r.Copies.Get(ctx, r.Key)
	if missing == nil && raw == nil {
		return err
	}
	if missing == nil {
		missing = json.Unmarshal(raw, &rows)
	}
	if missing != nil {
		return errors.Join(err, fmt.Errorf("recall %s: %w", r.Name, missing))
	}
	r.isKnown = true
	return errors.Join(err, r.Use(rows))
}

func (r *Rows[T]) keep(ctx context.Context, rows []T) error {
	raw, err := json.Marshal(rows)
	if err == nil {
		err = r.Copies.Set(ctx, r.Key, raw)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", r.Name, err)
	}
	return nil
}
