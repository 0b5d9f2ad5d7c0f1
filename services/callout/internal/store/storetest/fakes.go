package storetest

import (
	"context"
	"log/slog"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Counters records the counts of the use cases and the wake-ups of open boards.
type Counters struct {
	mu             sync.Mutex
	callout.Counts // guarded by mu
	Escalations    int
	Off            int
	Woken          int
	Figures        *reap.Figures
}

var (
	_ evaluate.Signals  = (*Counters)(nil)
	_ evaluate.Counters = (*Counters)(nil)
	_ reap.Counters     = (*Counters)(nil)
	_ save.Counters     = (*Counters)(nil)
	_ sweep.Counters    = (*Counters)(nil)
)

func (c *Counters) Evaluated(_ int, n callout.Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Add(n)
}

func (*Counters) Saved(bool, int) {}

func (c *Counters) Escalated() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Escalations++
}

func (c *Counters) NoticeOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Off++
}

func (c *Counters) Waiting(f *reap.Figures) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Figures = f
}

func (c *Counters) Changed(context.Context, authn.LabScope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Woken++
}

func (*Counters) Reaped(string, int) {}

func (*Counters) Swept(int) {}

// Jobs is a fake task queue. It records which bills have a job.
type Jobs struct{ Bills map[int64]bool }

var _ reap.Jobs = (*Jobs)(nil)

func (j *Jobs) Ensure(_ context.Context, _ authn.LabScope, deadlines []callout.Deadline) error {
	if j.Bills == nil {
		j.Bills = map[int64]bool{}
	}
	for _, d := range deadlines {
		j.Bills[d.BillID] = true
	}
	return nil
}
