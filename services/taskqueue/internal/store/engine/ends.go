package engine

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Ends is a page of a shard's archive queue: finished jobs that are not archived yet, oldest first. A job that was
// retried by an operator and finished again is in the queue twice.
type Ends struct {
	Forgotten int64 // number of jobs removed from the queue before these, for comparison by TrimEnds
	IDs       []job.ID
}

// OldestEnds returns up to most of the oldest jobs in a shard's archive queue.
func (r *Redis) OldestEnds(ctx context.Context, shard, most int) (Ends, error) {
	k, pipe := keysOf(shard), r.rdb.TxPipeline()
	count, page := pipe.Get(ctx, k.the(endsGoneKey)), pipe.LRange(ctx, k.the(endsKey), 0, int64(most)-1)
	err := r.send(ctx, pipe, "list ended jobs")
	e := Ends{Forgotten: whole(count.Val())}
	for _, id := range page.Val() {
		e.IDs = append(e.IDs, job.ID(id))
	}
	return e, err
}

// Ended is the end of one job.
type Ended struct {
	ID     job.ID
	Record []byte // nil: the job still waits or runs, was retried, or its record has expired
	Dead   bool   // the job is kept with its body, for retryTask and operators
}

// HowEnded reads the result records of jobs, in the order of the ids. It needs two round trips for a page of jobs. Dead
// letters are read first, so that a job resolved by an operator meanwhile is found in one of the two places.
func (r *Redis) HowEnded(ctx context.Context, ids []job.ID) ([]Ended, error) {
	list := make([]Ended, len(ids))
	dead, results := map[string][]int{}, map[string][]int{}
	for i, id := range ids {
		list[i].ID = id
		k := keysOf(id.Shard())
		records, bucket := k.the(recordsKey), k.results(id.CreatedMs())
		dead[records] = append(dead[records], i)
		results[bucket] = append(results[bucket], i)
	}
	if err := r.readRecords(ctx, dead, list, true); err != nil {
		return nil, err
	}
	return list, r.readRecords(ctx, results, list, false)
}

// readRecords reads the result records of jobs from hashes, a map from each hash to indexes of list.
func (r *Redis) readRecords(ctx context.Context, hashes map[string][]int, list []Ended, dead bool) error {
	pipe := r.rdb.Pipeline()
	answers := map[string]*redis.SliceCmd{}
	for key, at := range hashes {
		fields := make([]string, len(at))
		for i, position := range at {
			fields[i] = string(list[position].ID)
		}
		answers[key] = pipe.HMGet(ctx, key, fields...)
	}
	if err := r.send(ctx, pipe, "read how jobs ended"); err != nil {
		return err
	}
	for key, at := range hashes {
		for i, value := range answers[key].Val() {
			if record, found := value.(string); found {
				list[at[i]].Record, list[at[i]].Dead = []byte(record), dead
			}
		}
	}
	return nil
}

// TrimEnds removes the observed jobs from the archive queue. It returns false if another process has removed them.
func (r *Redis) TrimEnds(ctx context.Context, shard int, observed Ends) (bool, error) {
	keys := keysOf(shard).all(endsKey, endsGoneKey)
	reply, err := r.repeat(ctx, "trim_ends", keys, []any{observed.Forgotten, len(observed.IDs)})
	return number(reply) > 0, err
}

// ForgetResults deletes the result records of archived jobs, except dead letters. A job with such a record is never
// retried, so a repeated or late call deletes nothing newer.
func (r *Redis) ForgetResults(ctx context.Context, ids []job.ID) error {
	buckets := map[string][]string{}
	for _, id := range ids {
		key := keysOf(id.Shard()).results(id.CreatedMs())
		buckets[key] = append(buckets[key], string(id))
	}
	pipe := r.rdb.Pipeline()
	for key, list := range buckets {
		pipe.HDel(ctx, key, list...)
	}
	return r.send(ctx, pipe, "forget results")
}
