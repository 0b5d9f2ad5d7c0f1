package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Settle ends leases of one channel on one shard for the workers that hold them. The verdicts are in the order of the
// settlements. It is idempotent.
func (r *Redis) Settle(ctx context.Context, shard int, c job.Channel, list []Settlement) ([]Verdict, error) {
	keys, args := r.settleCall(keysOf(shard), "a", c, list)
	return answers[Verdict](ctx, r, "settle", keys, args, len(list))
}

// Reap ends expired leases like Settle; leases renewed meanwhile are skipped. fence is the number returned by Lead: if
// another process leads now, nothing changes.
func (r *Redis) Reap(
	ctx context.Context, shard int, c job.Channel, fence int64, list []Settlement,
) ([]Verdict, error) {
	k := keysOf(shard)
	keys, args := r.settleCall(k, fmt.Sprintf("r%d", fence), c, list)
	return answers[Verdict](ctx, r, "settle", append(keys, k.the(leaderKey)), args, len(list))
}

// common holds the values that consecutive settlements often share: everything except ids and payloads. The script gets
// them once per run of equal ones.
type common struct {
	token   int64
	op      Op
	hour    int64 // hour of the result bucket
	counter int64
	lane    job.Lane // only OpRetry and OpRelease, like delay and to; otherwise zero, so that more settlements are equal
	delay   time.Duration
	flow    job.Flow // only for jobs that stay in a lane or as dead letters
	to      job.Destination
}

const hourMs = int64(time.Hour / time.Millisecond)

func commonOf(s *Settlement) common {
	c := common{token: s.Token, op: s.Op, hour: s.ID.CreatedMs() / hourMs, counter: s.Counter}
	if c.again() {
		c.lane, c.delay, c.to = s.ID.Lane(), s.Delay, s.To
	}
	if c.again() || c.op == OpFail || c.op == OpUnknown {
		c.flow = s.Flow
	}
	return c
}

// again reports whether the jobs return to a lane.
func (c common) again() bool { return c.op == OpRetry || c.op == OpRelease }

func (r *Redis) settleCall(k shardKeys, mode string, c job.Channel, list []Settlement) (keys []string, args []any) {
	var lanes index[job.Lane]
	var groups index[Group]
	var buckets index[string]
	var children births
	var windows []string
	var left []any
	bodies := make([]string, 0, len(list))
	perRun := make([]any, 0, 16+len(list))
	for i := 0; i < len(list); {
		first := commonOf(&list[i])
		n := 1
		for i+n < len(list) && commonOf(&list[i+n]) == first {
			n++
		}
		lane, group := 0, 0
		if first.again() {
			lane = lanes.number(first.lane)
		}
		if first.to != "" {
			group = groups.number(Group{Channel: c, Flow: first.flow, To: first.to})
		}
		perRun = append(perRun, n, first.token, string(rune(first.op)), lane, buckets.number(k.results(first.hour*hourMs)),
			first.delay.Milliseconds(), first.counter, group, first.flow.Base())
		for ; n > 0; n-- {
			s := &list[i]
			i++
			bodies = append(bodies, k.body(s.ID))
			perRun = append(perRun, s.Payload)
			children.add(k, i, s.Callbacks)
			if s.Window != "" {
				left = append(left, i)
				windows = append(windows, k.the(windowKey+s.Window))
			}
		}
	}
	const named = 12
	args = []any{mode, len(lanes.list), len(groups.list), len(buckets.list), len(list), len(children.keys),
		seconds(r.set.KeepResults), r.set.Archive, len(k.body("")), named + len(groups.list) + len(perRun) + 1,
		r.set.CallbackLimit(), job.UntoldMark}
	lists := make([]string, len(groups.list))
	for i, g := range groups.list {
		lists[i], args = k.listOf(g), append(args, g.String())
	}
	keys = slices.Concat(k.lives(k.leases(c), k.bell(c), k.counts(c), k.the(groupsKey)), k.lanesAndRings(lanes.list...),
		lists, buckets.list, bodies, children.keys, windows)
	return keys, slices.Concat(args, perRun, children.args, left)
}

// births are the callback jobs that a call creates, as keys and arguments of lives.lua.
type births struct {
	keys []string
	args []any
}

// add appends the callback jobs of the job with index parent, in the order expected by lives.lua.
func (x *births) add(k shardKeys, parent int, children []NewJob) {
	for _, child := range children {
		x.keys = append(x.keys, k.body(child.ID))
		x.args = append(x.args, parent, string(child.ID), child.Body, child.Flow.Base())
	}
}

// CallbackLane returns the lane in which the callbacks of finished jobs are created.
func CallbackLane() job.Lane { return job.Lane{Channel: job.Callback, Priority: job.Moderate} }

// Renew extends leases of one channel on one shard. The results are in the order of the renewals.
func (r *Redis) Renew(ctx context.Context, shard int, c job.Channel, list []Renewal) ([]Renewed, error) {
	k := keysOf(shard)
	args := make([]any, 0, 4*len(list))
	for _, x := range list {
		args = append(args, string(x.ID), x.Mine, x.Proposed, x.ClaimedMs)
	}
	keys := []string{k.leases(c), k.the(cancelsKey), k.the(renewalsKey)}
	return answers[Renewed](ctx, r, "renew", keys, args, len(list))
}

// MarkIntent records that a paid send is about to begin. It returns false if the lease is lost: the caller must not
// send.
func (r *Redis) MarkIntent(ctx context.Context, id job.ID, token int64, provider string) (bool, error) {
	k := keysOf(id.Shard())
	keys := []string{k.leases(id.Lane().Channel), k.the(intentsKey)}
	reply, err := r.repeat(ctx, "intent", keys, []any{string(id), token, provider})
	return number(reply) == 1, err
}

// Expired lists up to most expired leases of a channel, oldest first.
func (r *Redis) Expired(ctx context.Context, shard int, c job.Channel, most int) ([]Expired, error) {
	k := keysOf(shard)
	parts, err := r.list(ctx, "expired", k.lives(k.leases(c), k.the(lostKey)), []any{most}, 1, 7)
	if err != nil || len(parts) == 1 {
		return nil, err
	}
	var list []Expired
	var keys []string
	for p := range slices.Chunk(parts[1:], 7) {
		e := Expired{ID: job.ID(text(p[0])), Token: number(p[1]), Evidence: job.UnpackEvidence(number(p[2]))}
		e.Evidence.Renewed, e.Evidence.Cancel, e.Evidence.Intent = number(p[3]) == 1, number(p[4]) == 1, number(p[5]) == 1
		e.Evidence.Unseen = number(p[6]) == 1
		list = append(list, e)
		keys = append(keys, k.body(e.ID))
	}
	raw, err := r.bodies(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Raw, list[i].Evidence.NoBody = raw[i], raw[i] == nil
	}
	return list, nil
}
