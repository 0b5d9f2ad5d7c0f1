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
	maxPostponed      = 100_000 // patients; further ones are left to the reconciliation
)

// Postponed holds patients whose source rows were not readable within the time that a batch may wait. It recomputes
// them after 1, 2, 4 … 32 seconds, by which time even a slow replica shows a committed row. At shutdown, all of them
// are recomputed once more; after a crash, the reconciliation finds them. It is safe for concurrent use.
type Postponed struct {
	clock clock.Clock
	mu    sync.Mutex // guards due
	due   map[int64]postponement
}

type postponement struct {
	at   time.Time
	wait time.Duration // the delay that ends at at
}

// NewPostponed returns an empty Postponed.
func NewPostponed(c clock.Clock) *Postponed {
	return &Postponed{clock: c, due: map[int64]postponement{}}
}

// Add adds patients; those already in the list restart with the first delay.
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

// Waiting returns the number of patients in the list.
func (p *Postponed) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.due)
}

// RunOnce recomputes the patients that are due. After a fault, they stay due.
func (p *Postponed) RunOnce(ctx context.Context, users Users) error {
	return p.compute(ctx, users, p.ready(p.clock.Now()))
}

// Finish recomputes all patients, due or not. It is called at shutdown, because their events are committed and not
// delivered to another process.
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

// ready returns the patients that are due by a time.
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

// done postpones patients that were recomputed at the given time, or removes them after the last delay. Patients added
// again since then are unchanged.
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
