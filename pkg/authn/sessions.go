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
	// lookupTimeout is the time after which a hanging cache counts as unavailable.
	lookupTimeout = 2 * time.Second
)

// RedisSessions reads sessions from the key-value cache: key session:<id>, a JSON document.
type RedisSessions struct {
	client redis.UniversalClient
}

// NewRedisSessions returns a store that reads through client. The caller still closes client.
func NewRedisSessions(client redis.UniversalClient) *RedisSessions {
	return &RedisSessions{client}
}

// Session returns context.DeadlineExceeded only when the deadline of ctx is the shorter one; after
// lookupTimeout it returns another error, while the caller still has time to respond.
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
		return nil, errNoResponse
	}
}

var errNoResponse = errors.New("the cache does not respond")

// sameDeadline reports whether the caller's deadline ends the query before lookupTimeout does.
func sameDeadline(ctx, lookup context.Context) bool {
	callers, ok := ctx.Deadline()
	ours, _ := lookup.Deadline()
	return ok && callers.Equal(ours)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout())
}
