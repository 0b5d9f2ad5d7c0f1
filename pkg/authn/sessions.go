package authn

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

const sessionKeyPrefix = "session:"

// RedisSessions reads sessions from the key-value cache: key session:<id>, a JSON document.
type RedisSessions struct {
	client redis.UniversalClient
}

// NewRedisSessions returns the store over client, which stays the caller's to close.
func NewRedisSessions(client redis.UniversalClient) *RedisSessions {
	return &RedisSessions{client}
}

// Session implements SessionStore.
func (s *RedisSessions) Session(ctx context.Context, id string) ([]byte, error) {
	document, err := s.client.Get(ctx, sessionKeyPrefix+id).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return document, err
}
