// Package redis owns what the search reads from the key-value cache beside sessions: the mode of its rate limit.
package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ModeKey holds normal, degraded or emergency; operators set it.
const ModeKey = "search:rate_limit_mode"

// maxModeBytes is how much of the value is read: whatever is longer is no mode.
const maxModeBytes = 32

// Modes reads the mode.
type Modes struct{ client redis.UniversalClient }

// NewModes returns the mode on client, which stays the caller's to close.
func NewModes(client redis.UniversalClient) *Modes { return &Modes{client: client} }

// Mode returns the value of the key, "" when there is none.
func (m *Modes) Mode(ctx context.Context) (string, error) {
	text, err := m.client.GetRange(ctx, ModeKey, 0, maxModeBytes).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read rate limit mode: %w", err)
	}
	return text, nil
}
