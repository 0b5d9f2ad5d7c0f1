package storetest

import (
	"context"
	"log/slog"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
)

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Counters notes what the use cases count, and how often they woke the open boards.
type Counters struct {
	mu                     sync.Mutex
	evaluate.Counts        // guarded by mu
	Escalations, Exhausted int
	Off                    int
	Woken                  int
	Figures                *reap.Figures
}

// Evaluated implements evaluate.Counters.
func (c *Counters) Evaluated(n evaluate.Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Critical += n.Critical
	c.Suppressed += n.Suppressed
	c.Corrected += n.Corrected
	c.Unclear += n.Unclear
}

// Saved implements save.Counters.
func (*Counters) Saved(bool, int) {}

// Escalated implements escalate.Counters.
func (c *Counters) Escalated(exhausted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Escalations++
	c.Exhausted += exhausted
}

// NoticeOff implements escalate.Counters.
func (c *Counters) NoticeOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Off++
}

// Waiting implements reap.Counters.
func (c *Counters) Waiting(f *reap.Figures) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Figures = f
}

// Changed implements escalate.Signals.
func (c *Counters) Changed(context.Context, authn.LabScope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Woken++
}

// Reaped implements reap.Counters.
func (*Counters) Reaped(string, int) {}

// Swept implements sweep.Counters.
func (*Counters) Swept(int) {}

// Jobs notes which bills have a job.
type Jobs struct{ Bills map[int64]bool }

// Ensure implements reap.Jobs.
func (j *Jobs) Ensure(_ context.Context, _ authn.LabScope, deadlines []callout.Deadline) error {
	if j.Bills == nil {
		j.Bills = map[int64]bool{}
	}
	for _, d := range deadlines {
		j.Bills[d.BillID] = true
	}
	return nil
}
