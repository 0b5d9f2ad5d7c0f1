// Package redis keeps copies of the rows of the database in the Redis of the queue.
package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/copied"
)

// Copies are values that every process reads, without an end.
type Copies struct{ Client redis.UniversalClient }

var _ copied.Copies = Copies{}

// Get returns nil for a key that no process has set.
func (c Copies) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := c.Client.Get(ctx, key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return value, err
}

// Set replaces the value.
func (c Copies) Set(ctx context.Context, key string, value []byte) error {
	return c.Client.Set(ctx, key, value, 0).Err()
}
