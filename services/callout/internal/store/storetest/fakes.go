package storetest

import (
	"context"
	"log/slog"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Counters notes what the use cases count, and how often they woke the open boards.
type Counters struct {
	mu                             sync.Mutex
	Critical, Suppressed, Escalate int // guarded by mu
	Woken                          int
}

// Evaluated implements evaluate.Counters.
func (c *Counters) Evaluated(_, critical, suppressed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Critical += critical
	c.Suppressed += suppressed
}

// Saved implements save.Counters.
func (*Counters) Saved(bool, int) {}

// Escalated implements escalate.Counters.
func (c *Counters) Escalated(int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Escalate++
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
func (j *Jobs) Ensure(_ context.Context, _ authn.LabScope, clocks []callout.Escalation) error {
	if j.Bills == nil {
		j.Bills = map[int64]bool{}
	}
	for _, c := range clocks {
		j.Bills[c.BillID] = true
	}
	return nil
}
