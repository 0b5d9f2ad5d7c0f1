package engine

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// sizeSample is how many jobs of a flow stand for the others.
const sizeSample = 32

// sizeSteps are about two milliseconds of Redis.
const sizeSteps = 500

// FlowSizes estimates the bytes of the waiting jobs of a shard by flow, of those flows that have at least so many jobs
// in one lane. It reads a sample: to count every byte would cost every job something.
func (r *Redis) FlowSizes(ctx context.Context, shard, least int) (map[job.Flow]int64, error) {
	k, sizes := keysOf(shard), map[job.Flow]int64{}
	for _, l := range job.Lanes() {
		some, err := r.sizesIn(ctx, k, k.lane(l), least)
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
	k := keysOf(shard)
	return r.sizesIn(ctx, k, k.the(deadFlowsKey), 1)
}

// sizesIn estimates the parts of a set that is scored as a lane, of flows that have at least so many jobs in it.
func (r *Redis) sizesIn(ctx context.Context, k shardKeys, key string, least int) (map[job.Flow]Part, error) {
	parts := map[job.Flow]Part{}
	for from := int64(0); from >= 0; {
		list, err := r.list(ctx, "flows", []string{key}, []any{max(1, least), sizeSample, from, sizeSteps}, 1, 3)
		if err != nil {
			return nil, err
		}
		from = number(list[0])
		for p := range slices.Chunk(list[1:], 3) {
			ids, _ := p[2].([]any)
			mean, err := r.meanSize(ctx, k, ids)
			if err != nil {
				return nil, err
			}
			jobs := number(p[1])
			parts[job.Flow(number(p[0]))] = Part{Jobs: jobs, Bytes: int64(mean * float64(jobs))}
		}
	}
	return parts, nil
}

const flowBytesAge = time.Minute // without a measurement no one is refused for an old one

// NoteFlowBytes tells all processes with how many bytes flows wait, in place of what was told before.
func (r *Redis) NoteFlowBytes(ctx context.Context, sizes map[job.Flow]int64) error {
	key, pipe := keysOf(0).the(flowBytesKey), r.rdb.TxPipeline()
	pipe.Del(ctx, key)
	for flow, n := range sizes {
		pipe.HSet(ctx, key, int(flow), n)
	}
	pipe.Expire(ctx, key, flowBytesAge)
	return r.send(ctx, pipe, "note the bytes of flows")
}

// FlowBytes reads what NoteFlowBytes told last.
func (r *Redis) FlowBytes(ctx context.Context) (map[job.Flow]int64, error) {
	pipe := r.rdb.Pipeline()
	texts := pipe.HGetAll(ctx, keysOf(0).the(flowBytesKey))
	err := r.send(ctx, pipe, "read the bytes of flows")
	sizes := make(map[job.Flow]int64, len(texts.Val()))
	for flow, n := range texts.Val() {
		sizes[job.Flow(whole(flow))] = whole(n)
	}
	return sizes, err
}

func (r *Redis) meanSize(ctx context.Context, k shardKeys, ids []any) (float64, error) {
	pipe := r.rdb.Pipeline()
	lengths := make([]*redis.IntCmd, len(ids))
	for i, id := range ids {
		lengths[i] = pipe.StrLen(ctx, k.body(job.ID(text(id))))
	}
	err := r.send(ctx, pipe, "measure bodies")
	var sum int64
	for _, one := range lengths {
		sum += one.Val()
	}
	return float64(sum) / float64(max(1, len(ids))), err
}
