package ratelimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed window.lua
var windowScript string

// Redis counts in Redis, with its clock, for all processes that share it. Each subject is one key, so it works with a
// cluster too; the key holds at most limit entries and expires one second after its window. A lost response may count
// an attempt twice, which allows fewer attempts, never more.
type Redis struct {
	client redis.UniversalClient
	prefix string
	script *redis.Script
}

// New returns a limiter whose keys start with prefix, such as "search:rate:". The caller still closes client.
func New(client redis.UniversalClient, prefix string) *Redis {
	return &Redis{client: client, prefix: prefix, script: redis.NewScript(windowScript)}
}

// Allow allows an attempt of key if fewer than limit were allowed within window. An error means that Redis did not
// decide.
func (r *Redis) Allow(ctx context.Context, key string, limit int, window time.Duration) (Decision, error) {
	if err := check(limit, window); err != nil {
		return Decision{}, err
	}
	name := r.prefix + key + ":" + strconv.FormatInt(window.Milliseconds(), 10)
	reply, err := r.script.Run(ctx, r.client, []string{name}, limit, window.Microseconds()).Int64Slice()
	if err != nil {
		return Decision{}, fmt.Errorf("count attempt: %w", err)
	}
	const allowed = 1
	switch {
	case len(reply) != 2:
		return Decision{}, errors.New("count attempt: unexpected reply of the script")
	case reply[0] == allowed:
		return Decision{Allowed: true, Remaining: int(reply[1])}, nil
	}
	return Decision{RetryAfter: max(time.Duration(reply[1])*time.Microsecond, time.Microsecond)}, nil
}
