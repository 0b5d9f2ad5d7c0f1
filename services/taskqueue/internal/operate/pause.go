package operate

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Pause lets no process begin jobs of a channel, within about a second. What runs ends as usual; tasks are accepted.
func (o *Operator) Pause(ctx context.Context, c job.Channel) error {
	if err := o.Queue.Pause(ctx, c, o.Clock.Now()); err != nil {
		return unavailable(err)
	}
	return nil
}

// Resume ends a pause.
func (o *Operator) Resume(ctx context.Context, c job.Channel) error {
	if err := o.Queue.Resume(ctx, c); err != nil {
		return unavailable(err)
	}
	return nil
}

// pausesEvery is how old the knowledge of the pauses may be at a claim.
const pausesEvery = time.Second

// Pauses tells which channels are paused.
type Pauses interface {
	Paused(ctx context.Context, shard int) (map[job.Channel]time.Time, error)
}

// pausing is the queue of one pump, which claims nothing while its channel is paused. It asks once a second, beside the
// claims, so the script of the claim need not know of pauses.
type pausing struct {
	worker.Queue
	pauses Pauses
	clock  clock.Clock

	read   time.Time
	paused bool
	doubt  bool // the answer of a claim got lost before the pause: the next one must tell
}

// Pausing makes the queue of one pump respect the pauses.
func Pausing(q worker.Queue, pauses Pauses, clk clock.Clock) worker.Queue {
	return &pausing{Queue: q, pauses: pauses, clock: clk}
}

// Claim takes nothing while the channel is paused. While Redis does not say, the last answer counts.
func (p *pausing) Claim(ctx context.Context, q engine.ClaimRequest) (engine.Claim, error) {
	now := p.clock.Now()
	if p.read.IsZero() || now.Sub(p.read) >= pausesEvery {
		paused, err := p.pauses.Paused(ctx, q.Shard)
		if err != nil && p.read.IsZero() {
			return engine.Claim{}, err //nolint:wrapcheck // the same module
		}
		if err == nil {
			_, p.paused = paused[q.Channel]
			p.read = now
		}
	}
	p.doubt = p.doubt || q.Doubt
	if p.paused {
		return engine.Claim{NowMs: now.UnixMilli(), NextDueMs: -1, After: q.After}, nil
	}
	q.Doubt = p.doubt
	claim, err := p.Queue.Claim(ctx, q)
	if err == nil {
		p.doubt = false
	}
	return claim, err //nolint:wrapcheck // the same module
}
