package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Ends are ended jobs that wait for the archive, oldest first. A job that ended, was revived and ended again is
// there twice.
type Ends struct {
	Forgotten int64 // how many were forgotten before these; TrimEnds compares it
	IDs       []job.ID
}

// OldestEnds lists up to most ends of a shard.
func (r *Redis) OldestEnds(ctx context.Context, shard, most int) (Ends, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	k := &r.shards[shard]
	pipe := r.rdb.TxPipeline()
	count := pipe.Get(ctx, k.endsGone)
	page := pipe.LRange(ctx, k.ends, 0, int64(most)-1)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return Ends{}, fmt.Errorf("list ended jobs: %w", err)
	}
	var e Ends
	var err error
	if e.Forgotten, err = count.Int64(); err != nil && !errors.Is(err, redis.Nil) {
		return Ends{}, fmt.Errorf("list ended jobs: %w", err)
	}
	for _, text := range page.Val() {
		e.IDs = append(e.IDs, job.ID(text))
	}
	return e, nil
}

// Ended is how a job ended.
type Ended struct {
	ID     job.ID
	Record []byte // nil: it lives, again or still, or its end was forgotten
	Dead   bool   // it is kept with its body, for retryTask and for operators
}

// HowEnded reads how jobs ended, in the order of the ids: two questions for a page of them, where Info asks several for
// each job. The dead are asked first: a job that an operator gives its end meanwhile is found here or there.
func (r *Redis) HowEnded(ctx context.Context, ids []job.ID) ([]Ended, error) {
	list := make([]Ended, len(ids))
	dead, results := map[string][]int{}, map[string][]int{}
	for i, id := range ids {
		list[i].ID = id
		k := &r.shards[id.Shard()]
		dead[k.deadInfo] = append(dead[k.deadInfo], i)
		bucket := k.bucketOf(id)
		results[bucket] = append(results[bucket], i)
	}
	for _, kept := range []map[string][]int{dead, results} {
		if err := r.readRecords(ctx, kept, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readRecords reads the records that the hashes hold of the jobs at these positions.
func (r *Redis) readRecords(ctx context.Context, hashes map[string][]int, list []Ended) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	pipe := r.rdb.Pipeline()
	answers := map[string]*redis.SliceCmd{}
	for key, at := range hashes {
		fields := make([]string, len(at))
		for i, position := range at {
			fields[i] = string(list[position].ID)
		}
		answers[key] = pipe.HMGet(ctx, key, fields...)
	}
	if _, err := pipe.Exec(ctx); err != nil && len(hashes) > 0 {
		return fmt.Errorf("read how jobs ended: %w", err)
	}
	for key, at := range hashes {
		for i, value := range answers[key].Val() {
			if text, found := value.(string); found {
				one := &list[at[i]]
				one.Record, one.Dead = []byte(text), key == r.shards[one.ID.Shard()].deadInfo
			}
		}
	}
	return nil
}

// TrimEnds forgets observed ends, unless somebody else did; it reports whether they went.
func (r *Redis) TrimEnds(ctx context.Context, shard int, observed Ends) (bool, error) {
	k := &r.shards[shard]
	reply, err := r.repeat(ctx, "trim_ends", []string{k.ends, k.endsGone}, []any{observed.Forgotten, len(observed.IDs)})
	return number(reply) > 0, err
}

// ForgetResults forgets how jobs ended, which the archive has. Jobs that are kept dead are left alone. A job with a
// result never lives again, so a repeat, or a late call, takes nothing that came later.
func (r *Redis) ForgetResults(ctx context.Context, ids []job.ID) error {
	buckets := map[string][]string{}
	for _, id := range ids {
		key := r.shards[id.Shard()].bucketOf(id)
		buckets[key] = append(buckets[key], string(id))
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	pipe := r.rdb.Pipeline()
	for key, list := range buckets {
		pipe.HDel(ctx, key, list...)
	}
	if _, err := pipe.Exec(ctx); err != nil && len(buckets) > 0 {
		return fmt.Errorf("forget results: %w", err)
	}
	return nil
}
