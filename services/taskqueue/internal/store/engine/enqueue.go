package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// ringWithin is how soon a job must be due to wake an idle fetcher immediately; the fetcher then sleeps until the exact
// time.
const ringWithin = 2 * time.Second

// Enqueue accepts a batch. If it returns nil, the jobs are as durable as Redis is configured to be. After any error, it
// is safe to call it again with the same batch.
func (r *Redis) Enqueue(ctx context.Context, b Batch) (Accepted, error) {
	keys, args := r.enqueueCall(keysOf(b.Jobs[0].ID.Shard()), b)
	reply, err := r.repeatConfirmed(ctx, "enqueue", keys, args)
	if err != nil {
		if redis.IsOOMError(err) {
			return Accepted{}, fmt.Errorf("%w: %w", ErrMemoryFull, err)
		}
		return Accepted{}, err
	}
	return readAccepted(reply, b)
}

// enqueueCall builds the script's arguments. Consecutive jobs that differ only in their bodies share one description,
// because reading, copying and comparing a description per job costs Redis more than the job itself.
func (r *Redis) enqueueCall(k shardKeys, b Batch) (keys []string, args []any) {
	var lanes index[job.Lane]
	var bells, windows index[string]
	n := len(b.Jobs)
	perRun := make([]any, 0, 16+n)
	bodies := make([]string, 0, n)
	var seen []string
	for i := 0; i < n; {
		first := &b.Jobs[i]
		lane := first.ID.Lane()
		bells.number(k.bell(lane.Channel))
		window, observed, override := 0, "", false
		if w := first.Window; w != nil {
			window, observed, override = windows.number(k.the(windowKey+w.Key)), string(w.Seen), w.Override
			seen = append(seen, k.seenBody(w))
		}
		count := alike(b.Jobs[i:])
		perRun = append(perRun, count, lanes.number(lane), min(first.DueMs, job.LatestDueMs), first.Flow.Base(),
			window, observed, override)
		for _, one := range b.Jobs[i : i+count] {
			bodies = append(bodies, k.body(one.ID))
			perRun = append(perRun, one.Body)
		}
		i += count
	}
	flowLimit := r.set.FlowLimit
	if b.Full {
		flowLimit = 0
	}
	keys = slices.Concat([]string{k.the(idemKey + b.IdempotencyKey)}, k.lanesAndRings(lanes.list...), bells.list,
		windows.list, bodies, seen)
	args = []any{b.RequestHash, seconds(b.KeepKey), len(lanes.list), len(bells.list), len(windows.list), n,
		r.set.LaneLimit, flowLimit, r.set.WindowKeepAfter.Milliseconds(), ringWithin.Milliseconds(),
		!b.OwnKey || len(windows.list) > 0, len(k.body(""))}
	return keys, slices.Concat(args, perRun)
}

// alike returns how many of the first jobs differ only in their bodies. A job with a window is never grouped.
func alike(jobs []NewJob) int {
	first := &jobs[0]
	n := 1
	for n < len(jobs) && first.Window == nil && jobs[n].Window == nil && jobs[n].DueMs == first.DueMs &&
		jobs[n].Flow == first.Flow && jobs[n].ID.Lane() == first.ID.Lane() {
		n++
	}
	return n
}

func (k shardKeys) seenBody(w *Window) string {
	if w.Seen == "" {
		return k.the(windowKey + w.Key)
	}
	return k.body(w.Seen)
}

// refusals maps statuses of the script to errors.
var refusals = map[int64]error{3: ErrConflict, 4: ErrLaneFull, 5: ErrWindowChanged, 6: ErrFlowFull}

func readAccepted(reply any, b Batch) (Accepted, error) {
	parts, err := listOf("enqueue", reply, 1, 1)
	if err != nil {
		return Accepted{}, err
	}
	status := number(parts[0])
	if len(parts) == 2 && (status == 1 || status == 2) {
		return Accepted{IDs: readIDs(text(parts[1]), b), Replay: status == 2}, nil
	}
	if err, known := refusals[status]; known {
		return Accepted{}, err
	}
	return Accepted{}, fmt.Errorf("script enqueue answered %d, which this version does not understand", status)
}

// readIDs splits the ids of a batch. An empty text means that the script did not store them: they are the batch's own.
func readIDs(text string, b Batch) []job.ID {
	ids := make([]job.ID, 0, len(b.Jobs))
	if text == "" {
		for _, one := range b.Jobs {
			ids = append(ids, one.ID)
		}
		return ids
	}
	for one := range strings.SplitSeq(text, ",") {
		ids = append(ids, job.ID(one))
	}
	return ids
}

// LookupWindow returns the job that a window holds now, or an empty id. Enqueue compares the id again.
func (r *Redis) LookupWindow(ctx context.Context, shard int, key string) (job.ID, error) {
	pipe := r.rdb.Pipeline()
	id := pipe.HGet(ctx, keysOf(shard).the(windowKey+key), "id")
	err := r.send(ctx, pipe, "read window")
	return job.ID(id.Val()), err
}
