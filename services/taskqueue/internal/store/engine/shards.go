package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// shardsKey tells a Redis with how many shards its queue works: number → when that was noted, in ms.
const shardsKey = "tq:shards"

// ErrOtherShards reports that this Redis has the data of a queue with another number of shards: its idempotency keys
// and windows are not where this version looks for them, so what was sent could be sent again.
var ErrOtherShards = fmt.Errorf("this Redis has a queue whose number of shards is not %d: "+
	"use another Redis, or move it as docs/design/taskqueue.md describes under Shards", job.Shards)

// ShardOf is the shard where a key lives: what must be found again under it is looked for there alone.
func ShardOf(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % job.Shards)
}

// NoteShards notes the number of shards in an empty Redis and refuses the data of another number.
func (r *Redis) NoteShards(ctx context.Context) error {
	pipe := r.rdb.Pipeline()
	numbers, used := pipe.HGetAll(ctx, shardsKey), pipe.Exists(ctx, keysOf(0).the(counterKey))
	if err := r.send(ctx, pipe, "read the number of shards"); err != nil {
		return err
	}
	here, noted := strconv.Itoa(job.Shards), numbers.Val()
	switch _, ours := noted[here]; {
	case ours && len(noted) == 1:
		return nil
	case len(noted) > 0, used.Val() > 0: // the first versions noted nothing; a queue that ever ran a job has the counter
		return ErrOtherShards
	}
	pipe.HSet(ctx, shardsKey, here, clock.System{}.Now().UnixMilli())
	return r.send(ctx, pipe, "note the number of shards")
}

// ReserveKey keeps an idempotency key for a request that is accepted on another shard than its key's own, as a request
// with windows is: two requests under one key then meet, wherever each of them goes. Safe to repeat.
func (r *Redis) ReserveKey(ctx context.Context, shard int, key, hash string, keep time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, r.set.CallTimeout)
	defer cancel()
	once := redis.SetArgs{Mode: "NX", TTL: keep, Get: true}
	record, err := r.rdb.SetArgs(ctx, keysOf(shard).the(idemKey+key), hash, once).Result()
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

// Lead makes owner the one that tidies a shard for the next d, unless someone else is. The answer is the number of the
// leadership, which rises with every change, so that a leader of previous times can be refused; 0: someone else leads.
func (r *Redis) Lead(ctx context.Context, shard int, owner string, d time.Duration) (fence int64, err error) {
	reply, err := r.repeat(ctx, "lead", keysOf(shard).all(leaderKey), []any{owner, d.Milliseconds()})
	return number(reply), err
}

// tags are the hash tags of the shards: all keys of a shard are on the slot of its tag. Their slots lie evenly on the
// ring of 16,384, so that every node of a cluster with equal parts holds as many shards as the others, or one more. A
// tag begins with the shard's number; the letters only choose the slot. Tags name stored data: they never change.
var tags = [job.Shards]string{
	"00", "01bfax", "02anua", "03agyl", "04agmo", "05afhz", "06bwwk", "07bgpn",
	"08bqwc", "09bapf", "10abda", "11acat", "12bgpx", "13bfum", "14bbmc", "15bchv",
}
