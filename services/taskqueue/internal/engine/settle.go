package engine

import (
	"context"
	"fmt"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Settle ends leases of one channel of one shard for the workers that hold them. The verdicts are in the order
// of the settlements. Safe to call again with the same arguments.
func (r *Redis) Settle(ctx context.Context, shard int, c job.Channel, list []Settlement) ([]Verdict, error) {
	keys, args := r.settleCall(&r.shards[shard], "a", c, list)
	return r.settle(ctx, keys, args, len(list))
}

// Reap is Settle for leases that ran out: a lease that was renewed meanwhile is left alone. fence is the number of the
// caller's leadership; when somebody else leads now, everything is left alone.
func (r *Redis) Reap(
	ctx context.Context,
	shard int,
	c job.Channel,
	fence int64,
	list []Settlement,
) ([]Verdict, error) {
	k := &r.shards[shard]
	keys, args := r.settleCall(k, fmt.Sprintf("r%d", fence), c, list)
	return r.settle(ctx, append(keys, k.leader(Reaping)), args, len(list))
}

func (r *Redis) settle(ctx context.Context, keys []string, args []any, n int) ([]Verdict, error) {
	reply, err := r.repeat(ctx, "settle", keys, args)
	if err != nil {
		return nil, err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) != n {
		return nil, errReply("settle", reply)
	}
	verdicts := make([]Verdict, len(parts))
	for i := range parts {
		verdicts[i] = Verdict(number(parts[i]))
	}
	return verdicts, nil
}

func (r *Redis) settleCall(k *shardKeys, mode string, c job.Channel, list []Settlement) (keys []string, args []any) {
	var lanes, buckets index
	n := len(list)
	perJob := make([]any, 0, 9*n)
	bodies := make([]string, 0, n)
	var births, left []any
	var children, windows []string
	for i := range list {
		s := &list[i]
		bodies = append(bodies, k.bodyOf(s.ID))
		var counter any = ""
		if s.Counter != 0 {
			counter = s.Counter
		}
		perJob = append(perJob, string(s.ID), s.Token, string(rune(s.Op)), lanes.number(k.lanes[s.ID.Lane()]),
			buckets.number(k.bucketOf(s.ID)), s.Delay.Milliseconds(), s.Payload, counter, s.Flow.Base())
		for _, child := range s.Callbacks {
			births = append(births, i+1, string(child.ID), child.Body, child.Flow.Base())
			children = append(children, k.bodyOf(child.ID))
		}
		if s.Window != "" {
			left = append(left, i+1)
			windows = append(windows, k.windowKey+s.Window)
		}
	}
	keys = make([]string, 0, 11+len(lanes.keys)+len(buckets.keys)+n+len(children)+len(windows))
	keys = append(
		keys,
		k.leases[c],
		k.crashes,
		k.renewals,
		k.cancels,
		k.intents,
		k.dead,
		k.bells[c],
		k.bells[job.Callback],
		k.lanes[CallbackLane()],
		k.deadInfo,
		k.ends,
	)
	keys = append(append(append(append(append(keys, lanes.keys...), buckets.keys...), bodies...), children...), windows...)
	args = make([]any, 0, 7+9*n+len(births)+len(left))
	args = append(
		args,
		mode,
		len(lanes.keys),
		len(buckets.keys),
		n,
		len(children),
		seconds(r.set.KeepResults),
		flag(r.set.Archive),
	)
	return keys, append(append(append(args, perJob...), births...), left...)
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
	reply, err := r.repeat(ctx, "renew", []string{k.leases[c], k.cancels, k.renewals}, args)
	if err != nil {
		return nil, err
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) != len(list) {
		return nil, errReply("renew", reply)
	}
	answers := make([]Renewed, len(parts))
	for i := range parts {
		answers[i] = Renewed(number(parts[i]))
	}
	return answers, nil
}

// MarkIntent records that a paid send is about to begin. False: the lease is lost, do not send.
func (r *Redis) MarkIntent(ctx context.Context, id job.ID, token int64, provider string) (bool, error) {
	k := &r.shards[id.Shard()]
	reply, err := r.repeat(
		ctx,
		"intent",
		[]string{k.leases[id.Lane().Channel], k.intents},
		[]any{string(id), token, provider},
	)
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
