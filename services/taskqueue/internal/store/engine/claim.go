package engine

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Claim leases up to Max ready jobs. If it returns an error, jobs may have been claimed nevertheless; they run after
// their lease has expired.
func (r *Redis) Claim(ctx context.Context, q ClaimRequest) (Claim, error) {
	k := keysOf(q.Shard)
	keys := append(k.lanesAndRings(lanesOf(q.Channel)...), k.leases(q.Channel), k.the(counterKey), k.bell(q.Channel),
		k.the(claimerKey+q.Claimer), k.the(lostKey), k.the(endsKey), k.counts(q.Channel))
	reply, err := r.run(ctx, "claim", keys, r.claimArgs(q))
	if err != nil {
		return Claim{}, err
	}
	parts, err := listOf("claim", reply, claimHead, 1)
	if err != nil {
		return Claim{}, err
	}
	return readClaim(parts), nil
}

// ReadBodies reads the stored bodies of claimed jobs of one shard. If it returns an error, jobs without a body run
// after their lease has expired.
func (r *Redis) ReadBodies(ctx context.Context, jobs []Leased) error {
	keys := make([]string, len(jobs))
	for i := range jobs {
		keys[i] = keysOf(jobs[i].ID.Shard()).body(jobs[i].ID)
	}
	raw, err := r.bodies(ctx, keys)
	for i := range raw {
		jobs[i].Raw = raw[i]
	}
	return err
}

// lanesOf returns the lanes of a channel, the most urgent one first.
func lanesOf(c job.Channel) []job.Lane {
	of := func(p job.Priority) job.Lane { return job.Lane{Channel: c, Priority: p} }
	return []job.Lane{of(job.High), of(job.Moderate), of(job.Low)}
}

func (r *Redis) claimArgs(q ClaimRequest) []any {
	limits := q.Limits
	if limits == nil {
		limits = &Limits{Ordinary: q.Max, EachOrdinary: q.Max, EachReserved: q.Max}
	}
	var doubt any = ""
	if q.Doubt {
		doubt = q.Last
	}
	args := []any{q.Max, r.set.Lease.Milliseconds(), r.set.Ageing.Milliseconds(), q.Turn, r.set.LowShare,
		r.set.ModerateShare, int(job.FirstLab), limits.Ordinary, limits.EachOrdinary, limits.EachReserved, doubt,
		r.set.EndsLimit, int(q.After[job.High]), int(q.After[job.Moderate]), int(q.After[job.Low])}
	for flow, most := range limits.Flows {
		args = append(args, int(flow), most)
	}
	return args
}

const claimHead = 7 // number of fields before the jobs in the claim's reply

func readClaim(parts []any) Claim {
	c := Claim{
		NowMs:     number(parts[0]),
		NextDueMs: number(parts[1]),
		Token:     number(parts[2]),
		Held:      number(parts[3]) == 1,
		After: [3]job.Flow{
			job.High:     job.Flow(number(parts[4])),
			job.Moderate: job.Flow(number(parts[5])),
			job.Low:      job.Flow(number(parts[6])),
		},
	}
	var flow job.Flow
	for _, part := range parts[claimHead:] {
		if id, isID := part.(string); isID {
			c.Jobs = append(c.Jobs, Leased{ID: job.ID(id), Flow: flow})
			continue
		}
		flow = job.Flow(number(part))
	}
	return c
}

// bodies reads keys with MGET. It retries if the reply was lost, which is safe because MGET changes nothing.
func (r *Redis) bodies(ctx context.Context, keys []string) ([][]byte, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var values *redis.SliceCmd
	_, err := r.again(ctx, func() (any, error) {
		pipe := r.rdb.Pipeline()
		values = pipe.MGet(ctx, keys...)
		return nil, r.send(ctx, pipe, "read bodies")
	})
	if err != nil {
		return nil, err
	}
	raw := make([][]byte, len(keys))
	for i, v := range values.Val() {
		if text, ok := v.(string); ok {
			raw[i] = []byte(text)
		}
	}
	return raw, nil
}
