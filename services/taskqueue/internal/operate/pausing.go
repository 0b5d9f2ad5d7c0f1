package operate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Marks returns the pauses on a shard.
type Marks interface {
	Paused(ctx context.Context, shard int) (map[engine.Target]time.Time, error)
}

// Pauses caches the pauses in a process. It is safe for concurrent use, except RunOnce.
type Pauses struct {
	marks Marks
	shard int                         // the shard that responded last
	known atomic.Pointer[knownPauses] // nil until the first response
}

type knownPauses struct {
	marks map[engine.Target]time.Time
	flows map[job.Flow]int // flows of ordinary jobs of paused laboratories
}

// NewPauses returns a cache of the pauses read from marks.
func NewPauses(marks Marks) *Pauses { return &Pauses{marks: marks} }

// RunOnce reads the pauses from one shard after another until one responds; all shards have the same pauses. While none
// responds, the last result is used.
func (p *Pauses) RunOnce(ctx context.Context) (err error) {
	next := &knownPauses{flows: map[job.Flow]int{}}
	for range job.Shards {
		if next.marks, err = p.marks.Paused(ctx, p.shard); err == nil {
			break
		}
		p.shard = (p.shard + 1) % job.Shards
	}
	if err != nil {
		return err
	}
	for target := range next.marks {
		if lab, is := target.Lab(); is {
			next.flows[job.LabFlow(lab)] = engine.FlowPaused
		}
	}
	p.known.Store(next)
	return nil
}

func (k *knownPauses) has(t engine.Target) bool {
	if k == nil {
		return false
	}
	_, is := k.marks[t]
	return is
}

// Channel reports whether a channel is paused.
func (p *Pauses) Channel(c job.Channel) bool { return p.known.Load().has(engine.ChannelTarget(c)) }

// Labs returns the paused laboratories.
func (p *Pauses) Labs() (labs []int64) {
	known := p.known.Load()
	if known == nil {
		return nil
	}
	for target := range known.marks {
		if lab, is := target.Lab(); is {
			labs = append(labs, lab)
		}
	}
	slices.Sort(labs)
	return labs
}

// Receiver reports whether a receiver is paused.
func (p *Pauses) Receiver(origin string) bool {
	return p.known.Load().has(engine.ReceiverTarget(origin))
}

// Waiting returns a handler that parks the jobs of paused laboratories until the end of the pause, except the
// platform's calls, and passes all other jobs to next. Claims skip only ordinary jobs, because laboratories may share a
// reserved flow, and a pause must not stop another laboratory's critical results.
func Waiting(next worker.Handler, pauses *Pauses) worker.Handler { return &waiting{next, pauses} }

type waiting struct {
	worker.Handler

	pauses *Pauses
}

func (w *waiting) Handle(ctx context.Context, d worker.Delivery) (job.Result, error) {
	lab := engine.LabTarget(d.Body.LabID)
	if d.Body.Flow == job.FlowPlatform || !w.pauses.known.Load().has(lab) {
		return w.Handler.Handle(ctx, d)
	}
	return job.Result{}, job.Postpone("laboratory_paused", 0).For(job.Destination(lab))
}

// pausing is the queue of one pump. It claims nothing while its channel is paused, and no ordinary jobs of paused
// laboratories: the claim skips their flows, however many jobs wait in them.
type pausing struct {
	worker.Queue
	pauses *Pauses
	doubt  bool // the reply to a claim before the pause was lost; the next claim must report it
}

// Pausing returns the queue of a pump that does not claim paused jobs.
func Pausing(q worker.Queue, pauses *Pauses) worker.Queue {
	return &pausing{Queue: q, pauses: pauses}
}

var errUnknownPauses = errors.New("what is paused is not known yet")

// Claim claims jobs that are not paused.
func (p *pausing) Claim(ctx context.Context, q engine.ClaimRequest) (engine.Claim, error) {
	known := p.pauses.known.Load()
	if known == nil {
		return engine.Claim{}, errUnknownPauses
	}
	p.doubt = p.doubt || q.Doubt
	if known.has(engine.ChannelTarget(q.Channel)) {
		return engine.Claim{NextDueMs: -1, After: q.After}, nil
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

// without returns the limits of a claim, with the paused flows excluded.
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
