package materialize

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

const (
	firstPostponement = time.Second
	lastPostponement  = 32 * time.Second
	maxPostponed      = 100_000 // patients; beyond that the reconciler is the one to find them
)

// Postponed holds patients whose sources lagged behind their events for longer than a batch may wait, and computes
// them again after 1, 2, 4 … 32 seconds: until then a row that was committed is readable, whatever its replica takes.
// It implements Late. A process that ends computes all of them
// once more; what a crash loses, the reconciler finds. Safe for concurrent use.
type Postponed struct {
	clock clock.Clock
	mu    sync.Mutex // guards due
	due   map[int64]postponement
}

type postponement struct {
	at   time.Time
	wait time.Duration // before at
}

// NewPostponed returns an empty list.
func NewPostponed(c clock.Clock) *Postponed {
	return &Postponed{clock: c, due: map[int64]postponement{}}
}

// Add puts patients on the list. Those on it start over.
func (p *Postponed) Add(userIDs []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.clock.Now().Add(firstPostponement)
	for _, id := range userIDs {
		if _, known := p.due[id]; known || len(p.due) < maxPostponed {
			p.due[id] = postponement{at, firstPostponement}
		}
	}
}

// Waiting returns how many patients are on the list.
func (p *Postponed) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.due)
}

// RunOnce computes the patients whose time has come. After a fault they stay due.
func (p *Postponed) RunOnce(ctx context.Context, users Users) error {
	return p.compute(ctx, users, p.ready(p.clock.Now()))
}

// Finish computes all who wait, whenever their time comes: their events are done and come to no other process.
func (p *Postponed) Finish(ctx context.Context, users Users) error {
	return p.compute(ctx, users, p.ready(p.clock.Now().Add(lastPostponement)))
}

func (p *Postponed) compute(ctx context.Context, users Users, ready []int64) error {
	if len(ready) == 0 {
		return nil
	}
	targets := make([]Target, len(ready))
	for i, id := range ready {
		targets[i] = Target{UserID: id}
	}
	before := p.clock.Now()
	if _, err := users.Recompute(ctx, targets); err != nil {
		return err
	}
	p.done(ready, before)
	return nil
}

// ready returns those whose time has come by then.
func (p *Postponed) ready(by time.Time) []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []int64
	for id, d := range p.due {
		if !d.at.After(by) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// done puts off what was computed at the given time; what was added since keeps its turn.
func (p *Postponed) done(ids []int64, computed time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		d, ok := p.due[id]
		switch {
		case !ok || d.at.After(computed):
		case d.wait >= lastPostponement:
			delete(p.due, id)
		default:
			p.due[id] = postponement{p.clock.Now().Add(2 * d.wait), 2 * d.wait}
		}
	}
}
