package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// shardsKey tells a Redis with how many shards its queue works: number → when that was noted, in ms.
const shardsKey = "tq:shards"

// ErrOtherShards tells that this Redis has the data of a queue with another number of shards: its idempotency keys and
// windows are not where this version looks for them, so what was sent could be sent again.
var ErrOtherShards = fmt.Errorf("this Redis has a queue whose number of shards is not %d: "+
	"use another Redis, or move it as the README says under Shards", job.Shards)

// ShardOf is the shard where a key lives: what must be found again under it is looked for there alone.
func ShardOf(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % job.Shards)
}

// NoteShards notes the number of shards in an empty Redis and refuses the data of another number.
func (r *Redis) NoteShards(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	noted, err := r.rdb.HGetAll(ctx, shardsKey).Result()
	if err != nil {
		return fmt.Errorf("read the number of shards: %w", err)
	}
	here := strconv.Itoa(job.Shards)
	if _, ours := noted[here]; len(noted) > 1 || (len(noted) == 1 && !ours) {
		return ErrOtherShards
	}
	if len(noted) == 1 {
		return nil
	}
	// The first versions noted nothing. Every queue that ever ran a job has the counter of its first shard.
	used, err := r.rdb.Exists(ctx, r.shards[0].counter).Result()
	switch {
	case err != nil:
		return fmt.Errorf("look for jobs of a former version: %w", err)
	case used > 0:
		return ErrOtherShards
	}
	if err := r.rdb.HSet(ctx, shardsKey, here, r.clock.Now().UnixMilli()).Err(); err != nil {
		return fmt.Errorf("note the number of shards: %w", err)
	}
	return nil
}

// ReserveKey keeps an idempotency key for a request that is accepted on another shard than its key's own, as a request
// with windows is: two requests under one key then meet, wherever each of them goes. Safe to repeat.
func (r *Redis) ReserveKey(ctx context.Context, shard int, key, hash string, keep time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	once := redis.SetArgs{Mode: "NX", TTL: keep, Get: true}
	record, err := r.rdb.SetArgs(ctx, r.shards[shard].idem+key, hash, once).Result()
	switch {
	case errors.Is(err, redis.Nil): // there was none
		return nil
	case redis.IsOOMError(err):
		return fmt.Errorf("%w: %w", ErrMemoryFull, err)
	case err != nil:
		return fmt.Errorf("reserve an idempotency key: %w", err)
	case len(record) < len(hash) || record[:len(hash)] != hash:
		return ErrConflict
	}
	return nil
}
