package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// sizeSample is how many jobs of a flow stand for the others.
const sizeSample = 32

// sizeSteps are about two milliseconds of Redis.
const sizeSteps = 500

// FlowSizes estimates the bytes of the waiting jobs of a shard by flow, of those flows that have at least so many jobs
// in one lane. It looks at a sample: to count every byte would cost every job something.
func (r *Redis) FlowSizes(ctx context.Context, shard, least int) (map[job.Flow]int64, error) {
	k := &r.shards[shard]
	sizes := map[job.Flow]int64{}
	for _, l := range job.Lanes() {
		some, err := r.sizesIn(ctx, k, k.lanes[l], least)
		if err != nil {
			return nil, err
		}
		for flow, part := range some {
			sizes[flow] += part.Bytes
		}
	}
	return sizes, nil
}

// Part is what one flow has of something.
type Part struct{ Jobs, Bytes int64 }

// DeadParts estimates what each flow has among the dead of a shard.
func (r *Redis) DeadParts(ctx context.Context, shard int) (map[job.Flow]Part, error) {
	k := &r.shards[shard]
	return r.sizesIn(ctx, k, k.deadFlows, 1)
}

// sizesIn estimates the parts of a set that is scored as a lane, of flows that have at least so many jobs in it.
func (r *Redis) sizesIn(ctx context.Context, k *shardKeys, key string, least int) (map[job.Flow]Part, error) {
	parts := map[job.Flow]Part{}
	for from := int64(0); from >= 0; {
		reply, err := r.run(ctx, "flows", []string{key}, []any{max(1, least), sizeSample, from, sizeSteps})
		if err != nil {
			return nil, err
		}
		list, ok := reply.([]any)
		if !ok || len(list)%3 != 1 {
			return nil, errReply("flows", reply)
		}
		from = number(list[0])
		for list = list[1:]; len(list) > 0; list = list[3:] {
			ids, _ := list[2].([]any)
			mean, err := r.meanSize(ctx, k, ids)
			if err != nil {
				return nil, err
			}
			jobs := number(list[1])
			parts[job.Flow(number(list[0]))] = Part{Jobs: jobs, Bytes: int64(mean * float64(jobs))}
		}
	}
	return parts, nil
}

// flowBytes is the key of what one process measured for all, by flow.
func (k *shardKeys) flowBytes() string { return k.prefix + "flowbytes" }

const flowBytesAge = time.Minute // without a measurement nobody is refused for an old one

// NoteFlowBytes tells all processes with how many bytes flows wait, in place of what was told before.
func (r *Redis) NoteFlowBytes(ctx context.Context, sizes map[job.Flow]int64) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	key := r.shards[0].flowBytes()
	pipe := r.rdb.TxPipeline()
	pipe.Del(ctx, key)
	for flow, n := range sizes {
		pipe.HSet(ctx, key, int(flow), n)
	}
	pipe.Expire(ctx, key, flowBytesAge)
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("note the bytes of flows: %w", err)
	}
	return nil
}

// FlowBytes reads what NoteFlowBytes told last.
func (r *Redis) FlowBytes(ctx context.Context) (map[job.Flow]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	texts, err := r.rdb.HGetAll(ctx, r.shards[0].flowBytes()).Result()
	if err != nil {
		return nil, fmt.Errorf("read the bytes of flows: %w", err)
	}
	sizes := make(map[job.Flow]int64, len(texts))
	for flow, n := range texts {
		sizes[job.Flow(atoi(flow))] = int64(atoi(n))
	}
	return sizes, nil
}

func (r *Redis) meanSize(ctx context.Context, k *shardKeys, ids []any) (float64, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	pipe := r.rdb.Pipeline()
	lengths := make([]*redis.IntCmd, len(ids))
	for i, id := range ids {
		text, _ := id.(string)
		lengths[i] = pipe.StrLen(ctx, k.bodyOf(job.ID(text)))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, fmt.Errorf("measure bodies: %w", err)
	}
	var sum int64
	for _, one := range lengths {
		sum += one.Val()
	}
	return float64(sum) / float64(len(ids)), nil
}
