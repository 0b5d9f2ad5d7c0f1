package engine

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// sizeSample is how many jobs of a flow are measured to estimate the size of all.
const sizeSample = 32

// sizeSteps limits a script call to about two milliseconds of Redis's time.
const sizeSteps = 500

// FlowSizes estimates the bytes of a shard's waiting jobs by flow. Lanes in which a flow has fewer than least jobs do
// not count. It measures a sample, because an exact count would have to be updated for every job.
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

// Part is the share of one flow in a set of jobs.
type Part struct{ Jobs, Bytes int64 }

// DeadParts estimates the dead letters of a shard by flow.
func (r *Redis) DeadParts(ctx context.Context, shard int) (map[job.Flow]Part, error) {
	k := keysOf(shard)
	return r.sizesIn(ctx, k, k.the(deadFlowsKey), 1)
}

// sizesIn estimates the jobs and bytes by flow in a set with the scores of a lane. Flows with fewer than least jobs are
// left out.
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

const flowBytesAge = time.Minute // older measurements do not cause rejections

// NoteFlowBytes publishes the bytes of waiting jobs by flow to all processes. It replaces the previous values.
func (r *Redis) NoteFlowBytes(ctx context.Context, sizes map[job.Flow]int64) error {
	key, pipe := keysOf(0).the(flowBytesKey), r.rdb.TxPipeline()
	pipe.Del(ctx, key)
	for flow, n := range sizes {
		pipe.HSet(ctx, key, int(flow), n)
	}
	pipe.Expire(ctx, key, flowBytesAge)
	return r.send(ctx, pipe, "note the bytes of flows")
}

// FlowBytes returns the values last stored by NoteFlowBytes; none if they are older than a minute.
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
