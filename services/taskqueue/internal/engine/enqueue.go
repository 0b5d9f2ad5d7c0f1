package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// ringWithin: a job due this soon wakes the idle pump at once, which then sleeps until the exact time.
const ringWithin = 2 * time.Second

// Enqueue accepts a batch. When it returns nil, the jobs are as durable as Redis is configured to be. It is
// safe to call again with the same batch after any error.
func (r *Redis) Enqueue(ctx context.Context, b Batch) (Accepted, error) {
	k := &r.shards[b.Jobs[0].ID.Shard()]
	keys, args := r.enqueueCall(k, b)
	reply, err := r.repeatConfirmed(ctx, "enqueue", keys, args)
	if err != nil {
		if redis.IsOOMError(err) {
			return Accepted{}, fmt.Errorf("%w: %w", ErrMemoryFull, err)
		}
		return Accepted{}, err
	}
	return readAccepted(reply, b)
}

// enqueueCall names what jobs that follow one another have in common once: to read, copy and compare it for each job
// costs Redis more than the job itself.
func (r *Redis) enqueueCall(k *shardKeys, b Batch) (keys []string, args []any) {
	var lanes, rings, bells, windows index
	n := len(b.Jobs)
	perRun := make([]any, 0, 16+n)
	bodies := make([]string, 0, n)
	var seen []string
	for i := 0; i < n; {
		first := &b.Jobs[i]
		lane := first.ID.Lane()
		bells.number(k.bells[lane.Channel])
		rings.number(k.rings[lane])
		window, observed, override := 0, "", 0
		if first.Window != nil {
			window, observed = windows.number(k.windowKey+first.Window.Key), string(first.Window.Seen)
			seen = append(seen, r.seenBody(k, first.Window))
			override = flag(first.Window.Override)
		}
		count := alike(b.Jobs[i:])
		perRun = append(perRun, count, lanes.number(k.lanes[lane]), min(first.DueMs, job.LatestDueMs), first.Flow.Base(),
			window, observed, override)
		for j := range b.Jobs[i : i+count] {
			bodies = append(bodies, k.bodyOf(b.Jobs[i+j].ID))
			perRun = append(perRun, b.Jobs[i+j].Body)
		}
		i += count
	}
	keys = make([]string, 0, 1+len(lanes.keys)+len(bells.keys)+len(windows.keys)+n+len(seen))
	keys = append(keys, k.idem+b.IdempotencyKey)
	keys = append(append(append(append(append(keys, lanes.keys...), bells.keys...), windows.keys...), bodies...), seen...)
	keys = append(keys, rings.keys...)
	args = make([]any, 0, 12+len(perRun))
	args = append(args, b.RequestHash, seconds(b.KeepKey), r.set.LaneLimit, len(lanes.keys), len(bells.keys),
		len(windows.keys), n, r.set.WindowKeepAfter.Milliseconds(), ringWithin.Milliseconds(),
		flag(!b.OwnKey || len(windows.keys) > 0), r.flowLimit(b), len(k.body))
	return keys, append(args, perRun...)
}

func (r *Redis) flowLimit(b Batch) int {
	if b.Full {
		return 0
	}
	return r.set.FlowLimit
}

// alike counts the jobs at the beginning that differ in their bodies alone. A job with a window stands alone.
func alike(jobs []NewJob) int {
	first := &jobs[0]
	n := 1
	for n < len(jobs) && first.Window == nil && jobs[n].Window == nil && jobs[n].DueMs == first.DueMs &&
		jobs[n].Flow == first.Flow && jobs[n].ID.Lane() == first.ID.Lane() {
		n++
	}
	return n
}

func (r *Redis) seenBody(k *shardKeys, w *Window) string {
	if w.Seen == "" {
		return k.windowKey + w.Key
	}
	return k.bodyOf(w.Seen)
}

func readAccepted(reply any, b Batch) (Accepted, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) == 0 {
		return Accepted{}, errReply("enqueue", reply)
	}
	status, _ := parts[0].(int64)
	switch status {
	case 1, 2:
		text, _ := parts[1].(string)
		return Accepted{IDs: readIDs(text, b), Replay: status == 2}, nil
	case 3:
		return Accepted{}, ErrConflict
	case 4:
		return Accepted{}, ErrLaneFull
	case 5:
		return Accepted{}, ErrWindowChanged
	case 6:
		return Accepted{}, ErrFlowFull
	}
	return Accepted{}, errReply("enqueue", reply)
}

// readIDs splits the ids of a batch; none kept means that they are the batch's own.
func readIDs(text string, b Batch) []job.ID {
	ids := make([]job.ID, 0, len(b.Jobs))
	if text == "" {
		for i := range b.Jobs {
			ids = append(ids, b.Jobs[i].ID)
		}
		return ids
	}
	for one := range strings.SplitSeq(text, ",") {
		ids = append(ids, job.ID(one))
	}
	return ids
}

// LookupWindow reads the job that a window holds now; empty when there is none. Enqueue compares it again.
func (r *Redis) LookupWindow(ctx context.Context, shard int, key string) (job.ID, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	id, err := r.rdb.HGet(ctx, r.shards[shard].windowKey+key, "id").Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read window: %w", err)
	}
	return job.ID(id), nil
}

func errReply(script string, reply any) error {
	return fmt.Errorf("script %s answered %T, which this version does not understand", script, reply)
}
