package operate

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// pausesEvery is how old the knowledge of the pauses may be at a claim.
const pausesEvery = time.Second

// Marks tells what is paused on a shard.
type Marks interface {
	Paused(ctx context.Context, shard int) (map[engine.Target]time.Time, error)
}

// Pauses is what a process knows of the pauses. It asks once a second, beside the claims. Safe for concurrent use.
type Pauses struct {
	marks Marks
	clock clock.Clock

	asking sync.Mutex // held while Redis is asked, so that one of the pumps asks for all
	known  atomic.Pointer[knownPauses]
}

type knownPauses struct {
	read  time.Time
	marks map[engine.Target]time.Time
	flows map[job.Flow]int // of paused laboratories
}

// NewPauses makes the pauses of a process.
func NewPauses(marks Marks, clk clock.Clock) *Pauses { return &Pauses{marks: marks, clock: clk} }

// ask returns the pauses as a shard tells them: all have the same. While it does not answer, the last answer counts;
// without one there is an error.
func (p *Pauses) ask(ctx context.Context, shard int) (*knownPauses, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	last, now := p.known.Load(), p.clock.Now()
	if last != nil && now.Sub(last.read) < pausesEvery {
		return last, nil
	}
	marks, err := p.marks.Paused(ctx, shard)
	if err != nil && last != nil {
		return last, nil
	}
	if err != nil {
		return nil, err
	}
	next := &knownPauses{read: now, marks: marks, flows: map[job.Flow]int{}}
	for target := range marks {
		if lab, is := target.Lab(); is {
			next.flows[job.LabFlow(lab)], next.flows[job.OTPFlow(lab)] = engine.FlowPaused, engine.FlowPaused
		}
	}
	p.known.Store(next)
	return next, nil
}

func (k *knownPauses) has(t engine.Target) bool {
	if k == nil {
		return false
	}
	_, is := k.marks[t]
	return is
}

// Receiver reports whether nothing is sent to an origin, as the last claims knew it.
func (p *Pauses) Receiver(origin string) bool {
	return p.known.Load().has(engine.ReceiverTarget(origin))
}

// pausing is the queue of one pump, which claims nothing while its channel is paused, and nothing of paused
// laboratories: the claim passes their flows by, however much waits in them.
type pausing struct {
	worker.Queue
	pauses *Pauses
	doubt  bool // the answer of a claim got lost before the pause: the next one must tell
}

// Pausing makes the queue of one pump respect the pauses.
func Pausing(q worker.Queue, pauses *Pauses) worker.Queue {
	return &pausing{Queue: q, pauses: pauses}
}

// Claim takes nothing that is paused.
func (p *pausing) Claim(ctx context.Context, q engine.ClaimRequest) (engine.Claim, error) {
	known, err := p.pauses.ask(ctx, q.Shard)
	if err != nil {
		return engine.Claim{}, err
	}
	p.doubt = p.doubt || q.Doubt
	if known.has(engine.ChannelTarget(q.Channel)) {
		return engine.Claim{NowMs: p.pauses.clock.Now().UnixMilli(), NextDueMs: -1, After: q.After}, nil
	}
	q.Doubt = p.doubt
	if len(known.flows) > 0 {
		q.Limits = without(q, known.flows)
	}
	claim, err := p.Queue.Claim(ctx, q)
	if err == nil {
		p.doubt = false
	}
	return claim, err
}

// without is the limits of a claim with paused flows.
func without(q engine.ClaimRequest, paused map[job.Flow]int) *engine.Limits {
	limits := engine.Limits{Ordinary: q.Max, EachOrdinary: q.Max, EachReserved: q.Max}
	if q.Limits != nil {
		limits = *q.Limits
	}
	flows := make(map[job.Flow]int, len(limits.Flows)+len(paused))
	maps.Copy(flows, limits.Flows)
	maps.Copy(flows, paused)
	limits.Flows = flows
	return &limits
}
