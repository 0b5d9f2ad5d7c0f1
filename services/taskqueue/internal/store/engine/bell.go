package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// bell receives wake-ups for one channel of one shard. A process blocks in at most one BLPOP per bell, and only while a
// fetcher is idle, so that a busy process leaves the wake-ups to idle ones.
type bell struct {
	listening atomic.Bool
	rung      chan error
}

// idlePoll is the longest sleep of an idle fetcher. It limits the delay if another process received the wake-up.
const idlePoll = time.Second

// WaitBell returns after a wake-up for the channel, after d (at most one second), or with an error of ctx or Redis. d
// is measured here and not by Redis, whose timeouts are up to 100 ms late on an idle server. If another process
// received the wake-up, the delay is at most the idle poll.
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

// listen blocks until a wake-up arrives or the idle poll has passed, and sends nil or the error of Redis.
func (b *bell) listen(ctx context.Context, bells redis.UniversalClient, key string) {
	err := bells.Do(ctx, "BLPOP", key, idlePoll.Seconds()).Err()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	b.listening.Store(false)
	select {
	case b.rung <- err:
	default: // a wake-up is already pending
	}
}
