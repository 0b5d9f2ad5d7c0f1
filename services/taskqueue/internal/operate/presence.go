package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Tally counts what a process does, for the page, and passes it on to the metrics.
type Tally struct {
	worker.Observer
	started map[job.Lane]*atomic.Int64
	settled map[job.Channel]*atomic.Int64
	faults  map[job.Channel]*atomic.Int64
}

// NewTally makes a tally in front of an observer.
func NewTally(next worker.Observer) *Tally {
	t := &Tally{Observer: next, started: map[job.Lane]*atomic.Int64{}, settled: map[job.Channel]*atomic.Int64{},
		faults: map[job.Channel]*atomic.Int64{}}
	for _, l := range job.Lanes() {
		t.started[l] = &atomic.Int64{}
	}
	for _, c := range job.Channels() {
		t.settled[c], t.faults[c] = &atomic.Int64{}, &atomic.Int64{}
	}
	return t
}

// Waited counts the first attempt of a job.
func (t *Tally) Waited(l job.Lane, d time.Duration) {
	t.started[l].Add(1)
	t.Observer.Waited(l, d)
}

// Attempt counts an attempt that ended.
func (t *Tally) Attempt(c job.Channel, outcome string, took time.Duration) {
	switch outcome {
	case "postponed", "released", "dropped": // no request was made
	case "succeeded":
		t.settled[c].Add(1)
	default:
		t.settled[c].Add(1)
		t.faults[c].Add(1)
	}
	t.Observer.Attempt(c, outcome, took)
}

// Process is what one process says of itself. Counts are since its start.
type Process struct {
	Name     string           `json:"name"`
	AtMs     int64            `json:"at_ms"`
	SinceMs  int64            `json:"since_ms"`
	Started  map[string]int64 `json:"started"`  // jobs begun, by channel and priority ("sms:2")
	Attempts map[string]int64 `json:"attempts"` // by channel
	Faults   map[string]int64 `json:"faults"`   // attempts that did not succeed
}

// Presence announces this process.
type Presence struct {
	queue Queue
	clock clock.Clock
	tally *Tally
	name  string
	since int64
}

// NewPresence makes the presence of the process of that name.
func NewPresence(q Queue, clk clock.Clock, t *Tally, name string) *Presence {
	return &Presence{queue: q, clock: clk, tally: t, name: name, since: clk.Now().UnixMilli()}
}

// RunOnce announces it once.
func (p *Presence) RunOnce(ctx context.Context) error {
	state, err := json.Marshal(p.state())
	if err != nil {
		return fmt.Errorf("encode the process's state: %w", err)
	}
	return p.queue.Announce(ctx, p.name, state)
}

func (p *Presence) state() Process {
	s := Process{
		Name:     p.name,
		AtMs:     p.clock.Now().UnixMilli(),
		SinceMs:  p.since,
		Started:  map[string]int64{},
		Attempts: map[string]int64{},
		Faults:   map[string]int64{},
	}
	for l, n := range p.tally.started {
		if n.Load() > 0 {
			s.Started[fmt.Sprintf("%s:%d", l.Channel, l.Priority)] = n.Load()
		}
	}
	for c, n := range p.tally.settled {
		if n.Load() > 0 {
			s.Attempts[c.String()], s.Faults[c.String()] = n.Load(), p.tally.faults[c].Load()
		}
	}
	return s
}

const (
	silentAfter = 10 * time.Second
	goneAfter   = 5 * time.Minute
)

// Silent reports a process that said nothing for a while: it stopped, or lost its Redis.
func (p Process) Silent(now time.Time) bool { return now.Sub(time.UnixMilli(p.AtMs)) > silentAfter }

// processes lists them by name and forgets those that are long gone.
func (o *Operator) processes(ctx context.Context) ([]Process, error) {
	states, err := o.Queue.Processes(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Process, 0, len(states))
	for name, state := range states {
		var p Process
		if json.Unmarshal(state, &p) != nil || o.Clock.Now().Sub(time.UnixMilli(p.AtMs)) > goneAfter {
			if err := o.Queue.ForgetProcess(ctx, name); err != nil {
				return nil, err
			}
			continue
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Process) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// End takes the process off the page.
func (p *Presence) End(ctx context.Context) error {
	return p.queue.ForgetProcess(ctx, p.name)
}
