package engine

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Claim leases up to Max ready jobs and reads their bodies. An error may hide a claim that happened: those
// jobs run one lease later.
func (r *Redis) Claim(ctx context.Context, q ClaimRequest) (Claim, error) {
	k := &r.shards[q.Shard]
	lane := job.Lane{Channel: q.Channel}
	keys := make([]string, 0, 13)
	rings := make([]string, 0, 3)
	for _, lane.Priority = range []job.Priority{job.High, job.Moderate, job.Low} {
		keys, rings = append(keys, k.lanes[lane]), append(rings, k.rings[lane])
	}
	keys = append(keys, k.leases[q.Channel], k.counter, k.bells[q.Channel], k.claimer+q.Claimer, k.lost, k.ends)
	keys = append(append(keys, rings...), k.counts[q.Channel])
	reply, err := r.run(ctx, "claim", keys, r.claimArgs(q))
	if err != nil {
		return Claim{}, err
	}
	c, err := readClaim(reply)
	if err != nil {
		return Claim{}, err
	}
	return c, r.readBodies(ctx, k, c.Jobs)
}

func (r *Redis) claimArgs(q ClaimRequest) []any {
	limits := q.Limits
	if limits == nil {
		limits = &Limits{Ordinary: q.Max, EachOrdinary: q.Max, EachReserved: q.Max}
	}
	args := make([]any, 0, 15+2*len(limits.Flows))
	var doubt any = ""
	if q.Doubt {
		doubt = q.Last
	}
	args = append(args, q.Max, r.set.Lease.Milliseconds(), r.set.Ageing.Milliseconds(), q.Turn, r.set.LowShare,
		r.set.ModerateShare, int(job.FirstLab), limits.Ordinary, limits.EachOrdinary, limits.EachReserved,
		int(q.After[job.High]), int(q.After[job.Moderate]), int(q.After[job.Low]), doubt, r.set.EndsLimit)
	for flow, most := range limits.Flows {
		args = append(args, int(flow), most)
	}
	return args
}

const claimHead = 7 // fields of the claim's reply before the jobs

func readClaim(reply any) (Claim, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) < claimHead {
		return Claim{}, errReply("claim", reply)
	}
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
		if text, isID := part.(string); isID {
			c.Jobs = append(c.Jobs, Leased{ID: job.ID(text), Flow: flow})
			continue
		}
		flow = job.Flow(number(part))
	}
	return c, nil
}

func (r *Redis) readBodies(ctx context.Context, k *shardKeys, jobs []Leased) error {
	if len(jobs) == 0 {
		return nil
	}
	keys := make([]string, len(jobs))
	for i := range jobs {
		keys[i] = k.bodyOf(jobs[i].ID)
	}
	raw, err := r.bodies(ctx, keys)
	if err != nil {
		return err
	}
	for i := range jobs {
		jobs[i].Raw = raw[i]
	}
	return nil
}

// bodies is a plain MGET, repeated when the answer got lost: it changes nothing.
func (r *Redis) bodies(ctx context.Context, keys []string) ([][]byte, error) {
	var values []any
	var err error
	for try := 1; try <= repeats; try++ {
		callCtx, cancel := context.WithTimeout(ctx, r.timeout)
		values, err = r.rdb.MGet(callCtx, keys...).Result()
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read bodies: %w", err)
	}
	raw := make([][]byte, len(values))
	for i, v := range values {
		if text, ok := v.(string); ok {
			raw[i] = []byte(text)
		}
	}
	return raw, nil
}

func number(v any) int64 {
	n, _ := v.(int64)
	return n
}
