package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// groupByShard calls do with the positions of the ids of each shard.
func groupByShard(ids []job.ID, do func(shard int, at []int) error) error {
	groups := map[int][]int{}
	for i, id := range ids {
		groups[id.Shard()] = append(groups[id.Shard()], i)
	}
	for shard, at := range groups {
		if err := do(shard, at); err != nil {
			return err
		}
	}
	return nil
}

// Cancel ends waiting jobs and marks running ones, in batches; the answers are in the order of the list. Safe to call
// again after an error: jobs that it ended answer that they finished.
func (r *Redis) Cancel(ctx context.Context, list []Cancellation) ([]Cancelled, error) {
	ids := make([]job.ID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	all := make([]Cancelled, len(list))
	err := groupByShard(ids, func(shard int, at []int) error {
		for part := range slices.Chunk(at, manageBatch) {
			keys, args := r.cancelCall(&r.shards[shard], list, part)
			some, err := answers[Cancelled](ctx, r, "cancel", keys, args, len(part))
			if err != nil {
				return err
			}
			for i := range some {
				all[part[i]] = some[i]
			}
		}
		return nil
	})
	return all, err
}

func (r *Redis) cancelCall(k *shardKeys, list []Cancellation, at []int) (keys []string, args []any) {
	keys = []string{k.cancels, k.crashes, k.bells[job.Callback], k.lanes[CallbackLane()], k.deadInfo, k.ends,
		k.rings[CallbackLane()]}
	var births []any
	var children []string
	perJob := make([]any, 0, 2*len(at))
	for i, p := range at {
		c := &list[p]
		lane := c.ID.Lane()
		keys = append(keys, k.lanes[lane], k.leases[lane.Channel], k.bucketOf(c.ID), k.bodyOf(c.ID))
		perJob = append(perJob, string(c.ID), c.Record)
		for _, child := range c.Callbacks {
			births = append(births, i+1, string(child.ID), child.Body, child.Flow.Base())
			children = append(children, k.bodyOf(child.ID))
		}
	}
	args = []any{len(at), len(children), seconds(r.set.KeepResults), flag(r.set.Archive)}
	return append(keys, children...), append(append(args, perJob...), births...)
}

// Reschedule moves a waiting job to the due time (the past means now).
func (r *Redis) Reschedule(ctx context.Context, m Move) (Moved, error) {
	k := &r.shards[m.ID.Shard()]
	lane, body := m.ID.Lane(), k.bodyOf(m.ID)
	keys := []string{k.lanes[lane], k.leases[lane.Channel], k.bucketOf(m.ID), k.bells[lane.Channel], k.deadInfo, body,
		k.windowOr(m.Window, body), k.rings[lane]}
	reply, err := r.repeat(ctx, "reschedule", keys, []any{string(m.ID), min(m.DueMs, job.LatestDueMs),
		ringWithin.Milliseconds(), m.Observed, m.Body, r.set.WindowKeepAfter.Milliseconds()})
	return Moved(number(reply)), err
}

// A call that looks at jobs or ends them stays short, however many are named: a millisecond or two of Redis.
const (
	manageBatch = 100
	infoBytes   = 256 << 10 // of the bodies that one call reads
)

// Info looks at jobs; the snapshots are in the order of the ids.
func (r *Redis) Info(ctx context.Context, ids []job.ID) ([]Snapshot, error) {
	snapshots := make([]Snapshot, len(ids))
	err := groupByShard(ids, func(shard int, at []int) error {
		for len(at) > 0 {
			some, err := r.infoOf(ctx, &r.shards[shard], ids, at[:min(manageBatch, len(at))])
			if err != nil {
				return err
			}
			for i, s := range some {
				snapshots[at[i]] = s
			}
			at = at[len(some):]
		}
		return nil
	})
	return snapshots, err
}

// infoOf looks at the first of the jobs, at least at one.
func (r *Redis) infoOf(ctx context.Context, k *shardKeys, ids []job.ID, at []int) ([]Snapshot, error) {
	keys, args := k.inspected(), []any{infoBytes}
	for _, p := range at {
		lane := ids[p].Lane()
		keys = append(keys, k.lanes[lane], k.leases[lane.Channel], k.bucketOf(ids[p]), k.bodyOf(ids[p]))
		args = append(args, string(ids[p]))
	}
	reply, err := r.repeat(ctx, "info", keys, args)
	if err != nil {
		return nil, err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) < 7 || len(parts)%6 != 1 {
		return nil, errReply("info", reply)
	}
	some := make([]Snapshot, len(parts)/6)
	for i := range some {
		some[i] = readSnapshot(ids[at[i]], number(parts[0]), parts[1+6*i:7+6*i])
	}
	return some, nil
}

func readSnapshot(id job.ID, now int64, p []any) Snapshot {
	s := Snapshot{ID: id, NowMs: now, Traces: Traces(number(p[0])), Token: number(p[2]), ClaimedMs: number(p[5])}
	s.CancelRequested = s.Traces&HasCancel != 0
	if text, _ := p[3].(string); text != "" {
		s.Record = []byte(text)
	}
	if text, _ := p[4].(string); text != "" {
		s.Body = []byte(text)
	}
	switch {
	case s.Traces&InLane != 0:
		s.Place, s.DueMs, s.Record = PlaceLane, job.DueOfScore(number(p[1])), nil
	case s.Traces&InLease != 0:
		s.Place, s.DeadlineMs, s.Record = PlaceLease, s.Token/1000, nil
	case s.Record != nil:
		s.Place = PlaceResult
	}
	return s
}

// OldestDead lists up to most failed jobs of a flow, or of AllFlows, that died at or before diedMs, oldest first.
func (r *Redis) OldestDead(ctx context.Context, shard int, flow job.Flow, diedMs int64, most int) ([]Dead, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	k := &r.shards[shard]
	part := redis.ZRangeArgs{Key: k.dead, ByScore: true, Count: int64(most), Start: 0, Stop: diedMs}
	if flow != AllFlows {
		low, high := Range{Flow: flow}.Bounds()
		part.Key, part.Start, part.Stop = k.deadFlows, low, min(high, flow.Base()+diedMs)
	}
	page, err := r.rdb.ZRangeArgsWithScores(ctx, part).Result()
	if err != nil {
		return nil, fmt.Errorf("list dead jobs: %w", err)
	}
	list := make([]Dead, len(page))
	for i, z := range page {
		id, _ := z.Member.(string)
		list[i] = Dead{ID: job.ID(id), DiedMs: int64(z.Score)}
		if flow != AllFlows {
			list[i].DiedMs = job.DueOfScore(int64(z.Score))
		}
	}
	return list, nil
}

// TrimDead forgets the observed dead jobs of one shard, unless they were revived meanwhile.
func (r *Redis) TrimDead(ctx context.Context, shard int, list []Dead) (int64, error) {
	k := &r.shards[shard]
	keys, args := []string{k.dead, k.deadInfo, k.deadFlows}, make([]any, 0, 2*len(list))
	for _, d := range list {
		keys = append(keys, k.bodyOf(d.ID))
		args = append(args, string(d.ID), d.DiedMs)
	}
	reply, err := r.repeat(ctx, "trim_dead", keys, args)
	return number(reply), err
}
