package engine

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// sizeSample is how many jobs of a flow stand for the others.
const sizeSample = 32

// FlowSizes estimates the bytes of the waiting jobs of a shard by flow, of those flows that have at least so many jobs
// in one lane. It looks at a sample: to count every byte would cost every job something.
func (r *Redis) FlowSizes(ctx context.Context, shard, least int) (map[job.Flow]int64, error) {
	k := &r.shards[shard]
	sizes := map[job.Flow]int64{}
	for _, l := range job.Lanes() {
		reply, err := r.run(ctx, "flows", []string{k.lanes[l]}, []any{max(1, least), sizeSample})
		if err != nil {
			return nil, err
		}
		parts, ok := reply.([]any)
		if !ok || len(parts)%3 != 0 {
			return nil, errReply("flows", reply)
		}
		for ; len(parts) > 0; parts = parts[3:] {
			ids, _ := parts[2].([]any)
			mean, err := r.meanSize(ctx, k, ids)
			if err != nil {
				return nil, err
			}
			sizes[job.Flow(number(parts[0]))] += int64(mean * float64(number(parts[1])))
		}
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
