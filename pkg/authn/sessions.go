package authn

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	sessionKeyPrefix = "session:"
	// lookupTimeout is when a cache that hangs counts as away.
	lookupTimeout = 2 * time.Second
)

// RedisSessions reads sessions from the key-value cache: key session:<id>, a JSON document.
type RedisSessions struct {
	client redis.UniversalClient
}

// NewRedisSessions returns the store over client, which stays the caller's to close.
func NewRedisSessions(client redis.UniversalClient) *RedisSessions {
	return &RedisSessions{client}
}

// Session implements SessionStore. It gives up while the caller still has time for an answer.
func (s *RedisSessions) Session(ctx context.Context, id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	document, err := s.client.Get(ctx, sessionKeyPrefix+id).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return document, err
}
