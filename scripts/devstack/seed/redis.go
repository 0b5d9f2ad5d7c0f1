package seed

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// writeRedis writes the keys and the sessions in one pipeline.
func writeRedis(
	ctx context.Context,
	client *redis.Client,
	fixture *Fixture,
	now time.Time,
	sessionAge time.Duration,
) error {
	pipeline := client.TxPipeline()
	for key, fields := range fixture.Redis.Hash {
		for field, value := range fields {
			pipeline.HSet(ctx, key, field, string(value))
		}
	}
	for key, value := range fixture.Redis.String {
		pipeline.Set(ctx, key, string(value), 0)
	}
	for _, session := range fixture.Sessions {
		value, err := session.Value(now)
		if err != nil {
			return err
		}
		pipeline.Set(ctx, session.Key(), value, sessionAge)
	}
	if pipeline.Len() == 0 {
		return nil
	}
	if _, err := pipeline.Exec(ctx); err != nil {
		return fmt.Errorf("write Redis: %w", err)
	}
	return nil
}
