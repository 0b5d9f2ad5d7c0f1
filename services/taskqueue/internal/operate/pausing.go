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

// Pauses is what a process knows of the pauses. It asks once a second a shard, beside the claims. Safe for concurrent
// use.
type Pauses struct {
	marks Marks
	clock clock.Clock

	mu     sync.Mutex // guards shards; held while Redis is asked, so that one of the pumps asks for all
	shards map[int]*knownPauses

	receivers atomic.Pointer[map[string]bool] // every shard has the same marks
}

type knownPauses struct {
	read     time.Time
	channels map[job.Channel]bool
	flows    map[job.Flow]int // of paused laboratories
}

// NewPauses makes the pauses of a process.
func NewPauses(marks Marks, clk clock.Clock) *Pauses {
	return &Pauses{marks: marks, clock: clk, shards: map[int]*knownPauses{}}
}

// of returns the pauses of a shard. While Redis does not say, the last answer counts; without one there is an error.
func (p *Pauses) of(ctx context.Context, shard int) (*knownPauses, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, now := p.shards[shard], p.clock.Now()
	if last != nil && now.Sub(last.read) < pausesEvery {
		return last, nil
	}
	marks, err := p.marks.Paused(ctx, shard)
	if err != nil {
		if last != nil {
			return last, nil
		}
		return nil, err
	}
	next, receivers := newKnownPauses(marks, now)
	p.shards[shard] = next
	p.receivers.Store(&receivers)
	return next, nil
}

func newKnownPauses(marks map[engine.Target]time.Time, now time.Time) (k *knownPauses, receivers map[string]bool) {
	k = &knownPauses{read: now, channels: map[job.Channel]bool{}, flows: map[job.Flow]int{}}
	receivers = map[string]bool{}
	for _, c := range job.Channels() {
		if _, is := marks[engine.ChannelTarget(c)]; is {
			k.channels[c] = true
		}
	}
	for target := range marks {
		if lab, is := target.Lab(); is {
			k.flows[job.LabFlow(lab)], k.flows[job.OTPFlow(lab)] = engine.FlowPaused, engine.FlowPaused
		}
		if origin, is := target.Receiver(); is {
			receivers[origin] = true
		}
	}
	return k, receivers
}

// Receiver reports whether nothing is sent to an origin, as the last claims knew it.
func (p *Pauses) Receiver(origin string) bool {
	list := p.receivers.Load()
	return list != nil && (*list)[origin]
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
	known, err := p.pauses.of(ctx, q.Shard)
	if err != nil {
		return engine.Claim{}, err
	}
	p.doubt = p.doubt || q.Doubt
	if known.channels[q.Channel] {
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
