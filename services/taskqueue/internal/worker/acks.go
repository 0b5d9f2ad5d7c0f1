package worker

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

const (
	ackBatch    = 250
	ackLinger   = 4 * time.Millisecond
	ackInFlight = 8 // several batches at a time, so that the append-only file can commit them as a group
	ackRetry    = 100 * time.Millisecond
)

// ack is a settlement that waits for its batch or for Redis.
type ack struct {
	run        *run
	settlement engine.Settlement
	other      int64 // token of an unanswered renewal, which the lease may have; 0: none
	outcome    string
	took       time.Duration
	leaseEnd   time.Time
}

// acks collects settlements and sends them in batches.
type acks struct {
	pump *Pump
	in   chan *ack
	quit chan struct{} // closed by stop; later settlements are not sent, and their leases are reaped
	send chan struct{} // limits the batches in flight
	done sync.WaitGroup
}

func newAcks(p *Pump) *acks {
	return &acks{
		pump: p,
		in:   make(chan *ack, ackBatch),
		quit: make(chan struct{}),
		send: make(chan struct{}, ackInFlight),
	}
}

// submit queues a settlement. It blocks only if Redis is far behind.
func (p *Pump) submit(r *run, s engine.Settlement, outcome string, took time.Duration) {
	if s.Op == engine.OpRetry || s.Op == engine.OpRelease {
		p.Bytes.Add(r.flow, int64(len(r.raw)))
	}
	one := &ack{run: r, settlement: s, outcome: outcome, took: took}
	one.settlement.ID, one.settlement.Flow = r.id, r.flow
	one.settlement.Token, one.other, one.leaseEnd = r.lease()
	select {
	case p.acks.in <- one:
	case <-p.acks.quit:
		p.Observer.LeaseLost(p.cfg.Channel)
	}
}

func (a *acks) start(ctx context.Context) {
	a.done.Go(func() {
		for first := a.next(); first != nil; first = a.next() {
			batch := a.collect(first)
			a.send <- struct{}{}
			a.done.Go(func() {
				defer func() { <-a.send }()
				a.flush(ctx, batch)
			})
		}
	})
}

// next waits for a settlement. After stop, it returns the remaining ones, then nil.
func (a *acks) next() *ack {
	select {
	case one := <-a.in:
		return one
	case <-a.quit:
	}
	select {
	case one := <-a.in:
		return one
	default:
		return nil
	}
}

// stop sends the remaining settlements and waits for their verdicts.
func (a *acks) stop() {
	close(a.quit)
	a.done.Wait()
}

func (a *acks) collect(first *ack) []*ack {
	batch := append(make([]*ack, 0, 16), first)
	timer := time.NewTimer(ackLinger)
	defer timer.Stop()
	for len(batch) < ackBatch {
		select {
		case next := <-a.in:
			batch = append(batch, next)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// flush settles a batch. Settlements that need another attempt are sent again, at most twice.
func (a *acks) flush(ctx context.Context, batch []*ack) {
	for round := 0; len(batch) > 0 && round < 3; round++ {
		verdicts, ok := a.settle(ctx, batch)
		if !ok {
			return
		}
		var again []*ack
		for i, v := range verdicts {
			if next := a.judge(batch[i], v); next != nil {
				again = append(again, next)
			}
		}
		batch = again
	}
}

// settle retries until Redis responds, so that outcomes of deliveries are not lost: only a response can show that a
// lease is lost. During shutdown, it retries until the last lease of the batch has expired.
func (a *acks) settle(ctx context.Context, batch []*ack) ([]engine.Verdict, bool) {
	p := a.pump
	slices.SortStableFunc(batch, func(x, y *ack) int { // jobs of the same claim share arguments in the engine
		return cmp.Or(cmp.Compare(x.settlement.Token, y.settlement.Token), cmp.Compare(x.settlement.Op, y.settlement.Op))
	})
	list := make([]engine.Settlement, len(batch))
	var end time.Time
	for i, one := range batch {
		list[i] = one.settlement
		if one.leaseEnd.After(end) {
			end = one.leaseEnd
		}
	}
	for failures := 0; ; failures++ {
		verdicts, err := p.Queue.Settle(ctx, p.cfg.Shard, p.cfg.Channel, list)
		if err == nil {
			return verdicts, true
		}
		if failures == 0 { // log once per outage
			p.Log.Warn("settling jobs failed, retrying", "jobs", len(batch), "error", err)
		}
		if a.stopped() && p.Clock.Now().After(end) {
			for range batch {
				p.Observer.LeaseLost(p.cfg.Channel)
			}
			return nil, false
		}
		_ = lifecycle.Pause(ctx, ackRetry)
	}
}

func (a *acks) stopped() bool {
	select {
	case <-a.quit:
		return true
	default:
		return false
	}
}

// judge counts the outcome of a settlement. It returns another settlement if the job has to end as cancelled or
// unknown, or if an unanswered renewal had changed the token; otherwise nil.
func (a *acks) judge(one *ack, v engine.Verdict) *ack {
	p := a.pump
	switch {
	case v.Done():
		p.Observer.Attempt(p.cfg.Channel, one.outcome, one.took)
		p.Observer.Callbacks(len(one.settlement.Callbacks), v == engine.VerdictUntold)
	case v == engine.VerdictCancelRequested && one.run.body != nil:
		next := *one
		next.settlement, next.outcome = p.cancelled(one.run), "cancelled"
		if one.run.doubtful {
			next.settlement, next.outcome = p.unknown(one.run), "unknown"
		}
		next.settlement.ID, next.settlement.Token = one.settlement.ID, one.settlement.Token
		next.settlement.Flow = one.settlement.Flow
		return &next
	case v == engine.VerdictLost && one.other != 0:
		next := *one
		next.settlement.Token, next.other = one.other, 0
		return &next
	default:
		p.Observer.LeaseLost(p.cfg.Channel)
	}
	return nil
}
