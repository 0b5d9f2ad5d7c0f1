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

// shardsKey is a hash with the number of shards of the queue as a field, and the time at which it was stored, in ms, as
// its value.
const shardsKey = "tq:shards"

// ErrOtherShards is returned if Redis has the data of a queue with another number of shards. This version would look
// for idempotency keys and windows on other shards, and messages could be sent twice.
var ErrOtherShards = fmt.Errorf("this Redis has a queue whose number of shards is not %d: "+
	"use another Redis, or move it as docs/design/taskqueue.md describes under Shards", job.Shards)

// ShardOf returns the shard of a key, such as an idempotency key, so that a later lookup reads only that shard.
func ShardOf(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % job.Shards)
}

// NoteShards stores the number of shards in an empty Redis. It returns ErrOtherShards if the data has another number.
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
	case len(noted) > 0, used.Val() > 0: // early versions stored no number; a used queue has the counter
		return ErrOtherShards
	}
	pipe.HSet(ctx, shardsKey, here, clock.System{}.Now().UnixMilli())
	return r.send(ctx, pipe, "note the number of shards")
}

// ReserveKey stores an idempotency key on its own shard for a request accepted on another one, such as a request with
// windows. Two requests with the same key then conflict on any shards. It is idempotent.
func (r *Redis) ReserveKey(ctx context.Context, shard int, key, hash string, keep time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, r.set.CallTimeout)
	defer cancel()
	once := redis.SetArgs{Mode: "NX", TTL: keep, Get: true}
	record, err := r.rdb.SetArgs(ctx, keysOf(shard).the(idemKey+key), hash, once).Result()
	switch {
	case errors.Is(err, redis.Nil): // the key was free
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

// Lead makes owner the leader of a shard for the next d, unless another process is. It returns the fencing number,
// which grows with every change of leader, so that writes of an earlier leader are rejected; 0: another process leads.
func (r *Redis) Lead(ctx context.Context, shard int, owner string, d time.Duration) (fence int64, err error) {
	reply, err := r.repeat(ctx, "lead", keysOf(shard).all(leaderKey), []any{owner, d.Milliseconds()})
	return number(reply), err
}

// tags are the hash tags of the shards: all keys of a shard are in the cluster slot of its tag. The slots are spread
// evenly over the 16,384 slots, so that the nodes of a balanced cluster have equal numbers of shards, or differ by one.
// A tag begins with the shard's number; the letters only choose the slot. Tags are stored data and never change.
var tags = [job.Shards]string{
	"00", "01bfax", "02anua", "03agyl", "04agmo", "05afhz", "06bwwk", "07bgpn",
	"08bqwc", "09bapf", "10abda", "11acat", "12bgpx", "13bfum", "14bbmc", "15bchv",
}
