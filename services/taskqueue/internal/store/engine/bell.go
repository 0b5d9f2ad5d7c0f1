package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// bell is this process's ear at one bell. At most one BLPOP listens, and it is begun only for a pump that has
// nothing to do, so that a busy process leaves the bell to idle ones.
type bell struct {
	listening atomic.Bool
	rung      chan error
}

// idlePoll is the longest sleep of an idle pump.
const idlePoll = time.Second

// WaitBell returns when the channel's bell rings, when d has passed, or with the error of ctx or of Redis. d is
// timed here and not by Redis, whose timeouts are up to 100 ms late on an idle server. A ring that another
// process heard costs at most the idle poll.
func (r *Redis) WaitBell(ctx context.Context, shard int, c job.Channel, d time.Duration) error {
	b := r.heard[shard][c]
	if b.listening.CompareAndSwap(false, true) {
		go b.listen(context.WithoutCancel(ctx), r.bells, keysOf(shard).bell(c))
	}
	timer := time.NewTimer(min(d, idlePoll))
	defer timer.Stop()
	select {
	case err := <-b.rung:
		return err
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen blocks until the bell rings or the idle poll is over, and reports which.
func (b *bell) listen(ctx context.Context, bells redis.UniversalClient, key string) {
	err := bells.Do(ctx, "BLPOP", key, idlePoll.Seconds()).Err()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	b.listening.Store(false)
	select {
	case b.rung <- err:
	default: // a ring that no one took yet says the same
	}
}
