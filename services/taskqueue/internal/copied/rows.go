// Package copied owns how settings that are rows of the database are read by every process, with a copy in Redis so
// that a start does not depend on the database.
package copied

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Rows reads one table. The rows are no secrets.
type Rows[T any] struct {
	Name   string // for errors
	Key    string // of the copy
	Client redis.UniversalClient
	Read   func(ctx context.Context) ([]T, error)
}

// Load returns the rows, or nil and an error. When the database does not answer and nothing is known yet, the rows that
// any process read last are taken, with the error beside them.
func (r Rows[T]) Load(ctx context.Context, known bool) ([]T, error) {
	rows, err := r.Read(ctx)
	switch {
	case err != nil && known:
		return nil, err
	case err != nil:
		recalled, missing := r.recall(ctx)
		return recalled, errors.Join(err, missing)
	case rows == nil:
		rows = []T{}
	}
	raw, err := json.Marshal(rows)
	if err == nil {
		err = r.Client.Set(ctx, r.Key, raw, 0).Err()
	}
	if err != nil {
		return rows, fmt.Errorf("copy %s: %w", r.Name, err)
	}
	return rows, nil
}

func (r Rows[T]) recall(ctx context.Context) ([]T, error) {
	raw, err := r.Client.Get(ctx, r.Key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	var rows []T
	if err == nil {
		err = json.Unmarshal(raw, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("recall %s: %w", r.Name, err)
	}
	return rows, nil
}
