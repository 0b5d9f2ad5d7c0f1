package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Settle ends leases of one channel of one shard for the workers that hold them. The verdicts are in the order
// of the settlements. Safe to call again with the same arguments.
func (r *Redis) Settle(ctx context.Context, shard int, c job.Channel, list []Settlement) ([]Verdict, error) {
	keys, args := r.settleCall(&r.shards[shard], "a", c, list)
	return answers[Verdict](ctx, r, "settle", keys, args, len(list))
}

// Reap is Settle for leases that ran out: a lease that was renewed meanwhile is left alone. fence is the number of the
// caller's leadership; when somebody else leads now, everything is left alone.
func (r *Redis) Reap(
	ctx context.Context, shard int, c job.Channel, fence int64, list []Settlement,
) ([]Verdict, error) {
	k := &r.shards[shard]
	keys, args := r.settleCall(k, fmt.Sprintf("r%d", fence), c, list)
	return answers[Verdict](ctx, r, "settle", append(keys, k.leader), args, len(list))
}

// common is what settlements share that differ in their ids and payloads alone, as most neighbours in a batch do: a run
// of them names it once.
type common struct {
	token   int64
	op      Op
	hour    int64 // of the result bucket
	counter int64
	lane    job.Lane // of OpRetry and OpRelease, as the next; else zero, so that more of them are alike
	delay   time.Duration
	flow    job.Flow // of what stays: in a lane or among the dead
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

// again reports that the jobs go back to a lane.
func (c common) again() bool { return c.op == OpRetry || c.op == OpRelease }

func (r *Redis) settleCall(k *shardKeys, mode string, c job.Channel, list []Settlement) (keys []string, args []any) {
	var lanes, rings, buckets, lists index
	var groups []any
	var children, windows []string
	var births, left []any
	bodies := make([]string, 0, len(list))
	perRun := make([]any, 0, 16+len(list))
	for i := 0; i < len(list); {
		first := commonOf(&list[i])
		n := 1
		for i+n < len(list) && commonOf(&list[i+n]) == first {
			n++
		}
		lane := 0
		if first.again() {
			lane = lanes.number(k.lanes[first.lane])
			rings.number(k.rings[first.lane])
		}
		group := 0
		if first.to != "" {
			g := Group{Channel: c, Flow: first.flow, To: first.to}
			if group = lists.number(k.listOf(g)); group > len(groups) {
				groups = append(groups, g.String())
			}
		}
		perRun = append(perRun, n, first.token, string(rune(first.op)), lane,
			buckets.number(k.results+job.Hour(first.hour*hourMs)), first.delay.Milliseconds(), counterText(first.counter),
			group, first.flow.Base())
		for ; n > 0; n-- {
			s := &list[i]
			i++
			bodies = append(bodies, k.bodyOf(s.ID))
			perRun = append(perRun, s.Payload)
			for _, child := range s.Callbacks {
				births = append(births, i, string(child.ID), child.Body, child.Flow.Base())
				children = append(children, k.bodyOf(child.ID))
			}
			if s.Window != "" {
				left = append(left, i)
				windows = append(windows, k.windowKey+s.Window)
			}
		}
	}
	keys = slices.Concat(k.settleKeys(c), lanes.keys, rings.keys, lists.keys, buckets.keys, bodies, children, windows)
	fixed := 12 + len(groups)
	head := []any{mode, len(lanes.keys), len(buckets.keys), len(list), len(children), seconds(r.set.KeepResults),
		flag(r.set.Archive), len(k.body), fixed + len(perRun) + 1, r.set.CallbackLimit(), job.UntoldMark, len(groups)}
	return keys, slices.Concat(head, groups, perRun, births, left)
}

// settleKeys are those that every call of the script names.
func (k *shardKeys) settleKeys(c job.Channel) []string {
	return []string{k.leases[c], k.crashes, k.renewals, k.cancels, k.intents, k.dead, k.bells[c], k.bells[job.Callback],
		k.lanes[CallbackLane()], k.deadInfo, k.ends, k.rings[CallbackLane()],
		k.deadFlows, k.groups, k.counts[c]}
}

// counterText is a crash counter; empty leaves the stored one.
func counterText(n int64) any {
	if n == 0 {
		return ""
	}
	return n
}

// CallbackLane is the lane in which the callbacks of finished jobs are born.
func CallbackLane() job.Lane { return job.Lane{Channel: job.Callback, Priority: job.Moderate} }

// Renew prolongs leases of one channel of one shard; the answers are in the order of the renewals.
func (r *Redis) Renew(ctx context.Context, shard int, c job.Channel, list []Renewal) ([]Renewed, error) {
	k := &r.shards[shard]
	args := make([]any, 0, 4*len(list))
	for _, x := range list {
		args = append(args, string(x.ID), x.Mine, x.Proposed, x.ClaimedMs)
	}
	return answers[Renewed](ctx, r, "renew", []string{k.leases[c], k.cancels, k.renewals}, args, len(list))
}

// MarkIntent records that a paid send is about to begin. False: the lease is lost, do not send.
func (r *Redis) MarkIntent(ctx context.Context, id job.ID, token int64, provider string) (bool, error) {
	k := &r.shards[id.Shard()]
	reply, err := r.repeat(ctx, "intent", []string{k.leases[id.Lane().Channel], k.intents},
		[]any{string(id), token, provider})
	return number(reply) == 1, err
}

// Expired lists up to most leases of a channel that ran out, oldest first.
func (r *Redis) Expired(ctx context.Context, shard int, c job.Channel, most int) ([]Expired, error) {
	k := &r.shards[shard]
	reply, err := r.run(ctx, "expired", []string{k.leases[c], k.crashes, k.renewals, k.cancels, k.intents, k.lost}, []any{most})
	if err != nil {
		return nil, err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts)%7 != 1 {
		return nil, errReply("expired", reply)
	}
	var list []Expired
	var keys []string
	for p := parts[1:]; len(p) > 0; p = p[7:] {
		text, _ := p[0].(string)
		e := Expired{ID: job.ID(text), Token: number(p[1]), Evidence: job.UnpackEvidence(number(p[2]))}
		e.Evidence.Renewed, e.Evidence.Cancel, e.Evidence.Intent = number(p[3]) == 1, number(p[4]) == 1, number(p[5]) == 1
		e.Evidence.Unseen = number(p[6]) == 1
		list = append(list, e)
		keys = append(keys, k.bodyOf(e.ID))
	}
	if len(list) == 0 {
		return nil, nil
	}
	raw, err := r.bodies(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Raw = raw[i]
		list[i].Evidence.NoBody = raw[i] == nil
	}
	return list, nil
}
