// Package copied owns how settings that are rows of the database are read by every process, with a copy in Redis so
// that a start does not depend on the database.
package copied

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Copies keeps values for all processes.
type Copies interface {
	// Get returns nil for a key that no process has set.
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
}

// Rows follows one table. The rows are no secrets.
type Rows[T any] struct {
	Name   string // for errors
	Key    string // of the copy
	Copies Copies
	Read   func(ctx context.Context) ([]T, error)
	Use    func(rows []T) error // takes the rows that are in force now

	isKnown bool // some rows were used
}

// RunOnce reads the rows. When the database does not answer, the last ones stay in force; when nothing is known yet,
// the rows that any process read last are taken. It is for one loop.
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
