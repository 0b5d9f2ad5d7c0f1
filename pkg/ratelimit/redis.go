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

// Redis counts in Redis, by its clock, for all processes that share it. A subject is one key, so a cluster serves as
// well as one node; the key holds at most limit entries and ends a second after its window. A lost answer may count an
// attempt twice: then fewer pass, never more.
type Redis struct {
	client redis.UniversalClient
	prefix string
	script *redis.Script
}

// New returns a limiter whose keys begin with prefix, such as "search:rate:". The client stays the caller's to close.
func New(client redis.UniversalClient, prefix string) *Redis {
	return &Redis{client: client, prefix: prefix, script: redis.NewScript(windowScript)}
}

// Allow lets the attempt of key pass when fewer than limit passed within window. An error means that Redis did not
// decide.
func (r *Redis) Allow(ctx context.Context, key string, limit int, window time.Duration) (Decision, error) {
	if err := check(limit, window); err != nil {
		return Decision{}, err
	}
	name := r.prefix + key + ":" + strconv.FormatInt(window.Milliseconds(), 10)
	answer, err := r.script.Run(ctx, r.client, []string{name}, limit, window.Microseconds()).Int64Slice()
	if err != nil {
		return Decision{}, fmt.Errorf("count attempt: %w", err)
	}
	const allowed = 1
	switch {
	case len(answer) != 2:
		return Decision{}, errors.New("count attempt: the script answered something else")
	case answer[0] == allowed:
		return Decision{Allowed: true, Remaining: int(answer[1])}, nil
	}
	return Decision{RetryAfter: max(time.Duration(answer[1])*time.Microsecond, time.Microsecond)}, nil
}
