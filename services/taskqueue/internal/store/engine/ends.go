package engine

import (
	"context"

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
	k, pipe := keysOf(shard), r.rdb.TxPipeline()
	count, page := pipe.Get(ctx, k.the(endsGoneKey)), pipe.LRange(ctx, k.the(endsKey), 0, int64(most)-1)
	err := r.send(ctx, pipe, "list ended jobs")
	e := Ends{Forgotten: whole(count.Val())}
	for _, id := range page.Val() {
		e.IDs = append(e.IDs, job.ID(id))
	}
	return e, err
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

// readRecords reads the records that the hashes hold of the jobs at these positions.
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

// TrimEnds forgets observed ends, unless someone else did; it reports whether they went.
func (r *Redis) TrimEnds(ctx context.Context, shard int, observed Ends) (bool, error) {
	keys := keysOf(shard).all(endsKey, endsGoneKey)
	reply, err := r.repeat(ctx, "trim_ends", keys, []any{observed.Forgotten, len(observed.IDs)})
	return number(reply) > 0, err
}

// ForgetResults forgets how jobs ended, which the archive has. Dead letters are skipped. A job with a
// result never lives again, so a repeat, or a late call, takes nothing that came later.
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
