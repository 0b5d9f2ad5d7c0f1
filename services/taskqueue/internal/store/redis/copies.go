// Package redis stores copies of database rows in the queue's Redis.
package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/copied"
)

// Copies is a key-value store shared by all processes. Values do not expire.
type Copies struct{ Client redis.UniversalClient }

var _ copied.Copies = Copies{}

// Get returns nil for a key that was never set.
func (c Copies) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := c.Client.Get(ctx, key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return value, err
}

func (c Copies) Set(ctx context.Context, key string, value []byte) error {
	return c.Client.Set(ctx, key, value, 0).Err()
}
