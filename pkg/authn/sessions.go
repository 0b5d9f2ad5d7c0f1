package authn

import (
	"context"
	"errors"
	"net"
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
	lookup, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	document, err := s.client.Get(lookup, sessionKeyPrefix+id).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err == nil || !isTimeout(err):
		return document, err
	case sameDeadline(ctx, lookup):
		return nil, context.DeadlineExceeded
	default:
		return nil, errHangs
	}
}

var errHangs = errors.New("the cache does not answer")

// sameDeadline reports whether the caller's time was shorter than a look-up's own.
func sameDeadline(ctx, lookup context.Context) bool {
	callers, ok := ctx.Deadline()
	ours, _ := lookup.Deadline()
	return ok && callers.Equal(ours)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout())
}
