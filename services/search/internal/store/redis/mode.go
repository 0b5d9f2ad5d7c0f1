// Package redis reads the mode of the rate limit from the key-value cache.
package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ModeKey is the key whose value operators set to normal, degraded or emergency.
const ModeKey = "search:rate_limit_mode"

// maxModeBytes is the number of bytes that are read. No mode is longer.
const maxModeBytes = 32

// Modes reads the mode of the rate limit.
type Modes struct{ client redis.UniversalClient }

// NewModes returns Modes that read through client, which the caller closes.
func NewModes(client redis.UniversalClient) *Modes { return &Modes{client: client} }

// Mode returns the value of the key, or "" if there is none.
func (m *Modes) Mode(ctx context.Context) (string, error) {
	text, err := m.client.GetRange(ctx, ModeKey, 0, maxModeBytes-1).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read rate limit mode: %w", err)
	}
	return text, nil
}
