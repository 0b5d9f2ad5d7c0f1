package engine

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Cancel ends waiting jobs and marks running ones, in batches. The results are in the order of the list. The same call
// may be repeated after an error: jobs that the first call ended are reported as cancelled again.
func (r *Redis) Cancel(ctx context.Context, list []Cancellation) ([]Cancelled, error) {
	id := func(c *Cancellation) job.ID { return c.ID }
	return inBatches(list, id, func(k shardKeys, batch []Cancellation) ([]Cancelled, error) {
		var children births
		keys, perJob := k.lives(), make([]any, 0, 2*len(batch))
		for i, c := range batch {
			keys = append(keys, k.places(c.ID)...)
			perJob = append(perJob, string(c.ID), c.Record)
			children.add(k, i+1, c.Callbacks)
		}
		args := []any{len(batch), len(children.keys), seconds(r.set.KeepResults), r.set.Archive}
		args = append(append(args, perJob...), children.args...)
		return answers[Cancelled](ctx, r, "cancel", append(keys, children.keys...), args, len(batch))
	})
}

// places returns the keys in which a job may be stored: its lane, the leases of its channel, its result bucket and its
// body.
func (k shardKeys) places(id job.ID) []string {
	return []string{k.lane(id.Lane()), k.leases(id.Lane().Channel), k.results(id.CreatedMs()), k.body(id)}
}

// Reschedule moves a waiting job to another due time. A time in the past means now.
func (r *Redis) Reschedule(ctx context.Context, m Move) (Moved, error) {
	k, lane := keysOf(m.ID.Shard()), m.ID.Lane()
	body := k.body(m.ID)
	keys := k.lives(k.lane(lane), k.ring(lane), k.leases(lane.Channel), k.bell(lane.Channel), k.results(m.ID.CreatedMs()),
		body, k.windowOr(m.Window, body))
	reply, err := r.repeat(ctx, "reschedule", keys, []any{string(m.ID), min(m.DueMs, job.LatestDueMs),
		ringWithin.Milliseconds(), m.Observed, m.Body, r.set.WindowKeepAfter.Milliseconds()})
	return Moved(number(reply)), err
}

// Resolution replaces the result of a job whose outcome was unknown.
type Resolution struct {
	ID        job.ID
	Observed  []byte // the current record, with the state unknown
	Record    []byte
	Sent      bool // the message was sent: the job is finished and not kept for a retry
	Callbacks []NewJob
}

// Resolve replaces the record of a dead letter and reports whether the record was the observed one. It is idempotent.
func (r *Redis) Resolve(ctx context.Context, x Resolution) (bool, error) {
	k := keysOf(x.ID.Shard())
	var children births
	children.add(k, 1, x.Callbacks)
	args := []any{string(x.ID), x.Observed, x.Record, x.Sent, seconds(r.set.KeepResults), r.set.Archive,
		len(children.keys)}
	keys := append(k.lives(k.results(x.ID.CreatedMs()), k.body(x.ID)), children.keys...)
	reply, err := r.repeat(ctx, "resolve", keys, append(args, children.args...))
	return number(reply) == 1, err
}

// Revival is a request to run a failed job again with a new body, if its record is still the observed one.
type Revival struct {
	ID       job.ID
	Body     []byte
	Observed []byte
	Window   string // window that the job leaves, because tasks must not join a job that has run; empty: none
}

const reviveBytes = 256 << 10 // maximum bytes of bodies and records per script call

// RetryFailed retries failed jobs after delay, in batches. Each job is retried completely or not at all. The results
// are in the order of the list. After an error, some jobs may have been retried; the same call again returns true for
// them.
func (r *Redis) RetryFailed(ctx context.Context, list []Revival, delay time.Duration) ([]bool, error) {
	id := func(x *Revival) job.ID { return x.ID }
	return inBatches(list, id, func(k shardKeys, batch []Revival) ([]bool, error) {
		keys, args, n := k.lives(), []any{delay.Milliseconds()}, 0
		for size := 0; n < len(batch); n++ {
			one, body := &batch[n], k.body(batch[n].ID)
			if size += len(one.Body) + len(one.Observed); size > reviveBytes && n > 0 {
				break
			}
			keys = append(keys, k.lane(one.ID.Lane()), body, k.windowOr(one.Window, body), k.ring(one.ID.Lane()))
			args = append(args, string(one.ID), one.Body, one.Observed, job.FlowOf(one.Body).Base())
		}
		answered, err := answers[int](ctx, r, "retry_failed", keys, args, n)
		revived := make([]bool, len(answered))
		for i := range answered {
			revived[i] = answered[i] == 1
		}
		return revived, err
	})
}

const infoBytes = 256 << 10 // maximum bytes of bodies read per script call

// Info returns the current state of jobs, in the order of the ids.
func (r *Redis) Info(ctx context.Context, ids []job.ID) ([]Snapshot, error) {
	const head, each = 1, 6
	id := func(id *job.ID) job.ID { return *id }
	return inBatches(ids, id, func(k shardKeys, batch []job.ID) ([]Snapshot, error) {
		keys, args := k.lives(), []any{infoBytes}
		for _, one := range batch {
			keys, args = append(keys, k.places(one)...), append(args, string(one))
		}
		parts, err := r.list(ctx, "info", keys, args, head+each, each)
		if err != nil {
			return nil, err
		}
		some := make([]Snapshot, len(parts)/each)
		for i := range some {
			some[i] = readSnapshot(batch[i], number(parts[0]), parts[head+each*i:])
		}
		return some, nil
	})
}

func readSnapshot(id job.ID, now int64, p []any) Snapshot {
	s := Snapshot{ID: id, NowMs: now, Traces: Traces(number(p[0])), Token: number(p[2]), ClaimedMs: number(p[5])}
	s.CancelRequested = s.Traces&HasCancel != 0
	if record := text(p[3]); record != "" {
		s.Record = []byte(record)
	}
	if body := text(p[4]); body != "" {
		s.Body = []byte(body)
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

// TrimDead deletes the observed dead letters of one shard, unless they were retried meanwhile, and returns their
// number.
func (r *Redis) TrimDead(ctx context.Context, shard int, list []Member) (int64, error) {
	k := keysOf(shard)
	keys, args := k.lives(), make([]any, 0, 2*len(list))
	for _, d := range list {
		keys = append(keys, k.body(d.ID))
		args = append(args, string(d.ID), d.Time)
	}
	reply, err := r.repeat(ctx, "trim_dead", keys, args)
	return number(reply), err
}
