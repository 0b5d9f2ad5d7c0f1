package janitor

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// maxPages is the maximum number of pages of surplus dead letters trimmed per pass. The next pass continues.
const maxPages = 200

// trimOld trims dead letters of a shard that are too old.
func (j *Janitor) trimOld(ctx context.Context, shard int) error {
	old := engine.Range{Shard: shard, List: engine.ListDead, Flow: engine.AllFlows,
		Until: j.RedisTime.Now().Add(-j.cfg.KeepDead).UnixMilli()}
	for {
		list, err := j.Queue.Browse(ctx, old, engine.Member{}, page)
		if err != nil || len(list) == 0 {
			return err
		}
		went, err := j.forget(ctx, shard, list)
		if err != nil || went == 0 || len(list) < page {
			return err
		}
	}
}

// parts holds the number and bytes of each flow's dead letters by shard.
type parts [job.Shards]map[job.Flow]engine.Part

// trimSurplus trims dead letters while there are too many of them or too many bytes. It takes the oldest from the flow
// with the largest part, so that one laboratory cannot displace dead letters that another one may want to retry.
func (j *Janitor) trimSurplus(ctx context.Context) error {
	var held parts
	j.dead = 0
	for shard := range held {
		var err error
		if held[shard], err = j.Queue.DeadParts(ctx, shard); err != nil {
			return fmt.Errorf("weigh the dead of shard %02d: %w", shard, err)
		}
		for _, p := range held[shard] {
			j.dead += p.Jobs
		}
	}
	for range maxPages {
		flow, over := j.largest(held)
		if over <= 0 {
			return nil
		}
		shard := held.most(flow)
		oldest := engine.Range{Shard: shard, List: engine.ListDead, Flow: flow}
		list, err := j.Queue.Browse(ctx, oldest, engine.Member{}, int(min(over, page)))
		if err != nil {
			return err
		}
		went, err := j.forget(ctx, shard, list)
		if err != nil || went == 0 {
			return err
		}
		p := held[shard][flow]
		held[shard][flow] = engine.Part{Jobs: p.Jobs - went, Bytes: p.Bytes - went*p.Bytes/p.Jobs}
		j.dead -= went
	}
	return nil
}

// largest returns the flow with the largest part and how many of its dead letters to trim; 0 if the limits are met.
// Parts are compared by number if there are too many dead letters, otherwise by bytes.
func (j *Janitor) largest(held parts) (flow job.Flow, over int64) {
	flows := map[job.Flow]engine.Part{}
	var sum engine.Part
	for _, shard := range held {
		for f, p := range shard {
			flows[f] = engine.Part{Jobs: flows[f].Jobs + p.Jobs, Bytes: flows[f].Bytes + p.Bytes}
			sum = engine.Part{Jobs: sum.Jobs + p.Jobs, Bytes: sum.Bytes + p.Bytes}
		}
	}
	measure := func(p engine.Part) int64 { return p.Jobs }
	if over = sum.Jobs - j.cfg.MaxDead; over <= 0 {
		measure = func(p engine.Part) int64 { return p.Bytes }
	}
	most := int64(-1)
	for f, p := range flows {
		if n := measure(p); n > most || (n == most && f < flow) {
			flow, most = f, n
		}
	}
	if large := sum.Bytes - j.cfg.MaxDeadBytes; over <= 0 && large > 0 {
		over = large/max(1, flows[flow].Bytes/max(1, flows[flow].Jobs)) + 1
	}
	return flow, over
}

// most returns the shard with the most dead letters of a flow.
func (x *parts) most(flow job.Flow) (shard int) {
	for s := range x {
		if x[s][flow].Jobs > x[shard][flow].Jobs {
			shard = s
		}
	}
	return shard
}

// forget archives dead letters and removes them from Redis. While the archive is unavailable, none are removed until
// there are more than twice the limit.
func (j *Janitor) forget(ctx context.Context, shard int, list []engine.Member) (int64, error) {
	if j.Archive != nil {
		ids := make([]job.ID, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		if err := j.Archive.Keep(ctx, ids); err != nil {
			j.Log.WarnContext(ctx, "old failed jobs wait: the archive does not take them", "jobs", len(ids), "error", err)
			if j.dead <= 2*j.cfg.MaxDead {
				return 0, nil
			}
		}
	}
	went, err := j.Queue.TrimDead(ctx, shard, list)
	if err != nil {
		return 0, fmt.Errorf("trim dead jobs: %w", err)
	}
	return went, nil
}
