package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

const (
	watchEvery   = 500 * time.Millisecond
	cancelMargin = 2 * time.Second // time from the end of a handler's context to the end of its lease
	renewBatch   = 500
)

// startRenewer monitors the leases until the returned function is called.
func (p *Pump) startRenewer(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				p.watch(ctx)
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// watch renews leases that need it and cancels handlers whose lease was not renewed in time.
func (p *Pump) watch(ctx context.Context) {
	now := p.Clock.Now()
	var due []*run
	p.each(func(r *run) {
		_, _, end := r.lease()
		switch renewAt := end.Add(-p.cfg.Lease + p.cfg.Lease/3); {
		case now.After(end.Add(-cancelMargin)):
			p.giveUp(r, now, end)
		case !now.Before(renewAt) && now.Before(r.started.Add(p.cfg.MaxRun)):
			due = append(due, r)
		}
	})
	for batch := range slices.Chunk(due, renewBatch) {
		p.renew(ctx, batch)
	}
}

// giveUp ends the handler's context. If the lease has ended and the handler still runs, its slot is returned to the
// pool; at most as many slots as the pool has may be returned in this way at a time.
func (p *Pump) giveUp(r *run, now, end time.Time) {
	r.cancel(errLeaseOver)
	if r.stopped.IsZero() {
		r.stopped = now
	}
	overdue := now.After(end) && now.Sub(r.stopped) >= cancelMargin // handlers get the margin even after a process freeze
	if overdue && p.Pool.leaked.Load() < int64(p.Pool.total) {
		r.freeSlot.Do(func() {
			r.leaked = true
			p.Pool.leaked.Add(1)
			p.Observer.LeaseLost(p.cfg.Channel)
			p.Log.Error("handler ignores its context; its place is given back", "job_id", string(r.id))
			p.Pool.release(r.flow)
		})
	}
}

func (p *Pump) renew(ctx context.Context, runs []*run) {
	list := make([]engine.Renewal, len(runs))
	sent := p.Clock.Now()
	for i, r := range runs {
		list[i] = p.propose(r, sent)
	}
	answers, err := p.Queue.Renew(ctx, p.cfg.Shard, p.cfg.Channel, list)
	if err != nil {
		p.Log.Warn("renewing leases failed", "jobs", len(runs), "error", err)
		return
	}
	for i, r := range runs {
		p.renewed(r, answers[i])
	}
}

// propose returns the renewal with the next token. An unanswered proposal is repeated unchanged, because it may have
// been accepted.
func (p *Pump) propose(r *run, sent time.Time) engine.Renewal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.proposed == 0 {
		elapsed := sent.Sub(r.received) + p.cfg.Lease
		r.proposed = (r.claimedMs+elapsed.Milliseconds())*1000 + r.token%1000
		r.asked = sent
	}
	return engine.Renewal{ID: r.id, Mine: r.token, Proposed: r.proposed, ClaimedMs: r.claimedMs}
}

func (p *Pump) renewed(r *run, answer engine.Renewed) {
	if answer == engine.RenewLost {
		r.cancel(errLeaseOver)
		return
	}
	r.mu.Lock()
	r.token, r.proposed = r.proposed, 0
	r.leaseEnd = r.asked.Add(p.cfg.Lease)
	r.mu.Unlock()
	if answer == engine.RenewCancelRequested {
		r.cancel(errCancelRequested)
	}
}
