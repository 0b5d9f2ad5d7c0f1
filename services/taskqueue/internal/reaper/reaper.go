// Package reaper owns what happens to jobs whose worker went silent, how long dead jobs are kept, and that no flow is
// missing in the rings of its lane. Any number
// of processes may run it at once: each shard has one that works at a time, and every step compares what it observed.
package reaper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// Queue is the part of the engine that the reaper needs.
type Queue interface {
	Expired(ctx context.Context, shard int, c job.Channel, most int) ([]engine.Expired, error)
	Lead(ctx context.Context, shard int, w engine.Work, owner string, d time.Duration) (int64, error)
	Reap(ctx context.Context, shard int, c job.Channel, fence int64, list []engine.Settlement) ([]engine.Verdict, error)
	OldestDead(ctx context.Context, shard int, diedMs int64, most int) ([]engine.Dead, int64, error)
	OldestDeadOf(ctx context.Context, shard int, flow job.Flow, most int) ([]engine.Dead, error)
	DeadParts(ctx context.Context, shard int) (map[job.Flow]engine.Part, error)
	TrimDead(ctx context.Context, shard int, list []engine.Dead) (int64, error)
	TendRings(ctx context.Context, shard int, from engine.RingPlace) (engine.RingPlace, error)
}

// Observer counts decisions.
type Observer interface {
	Reaped(c job.Channel, decision string)
}

// Config sets the pace and the limits.
type Config struct {
	Every        time.Duration // between two looks, jittered
	KeepDead     time.Duration
	MaxDead      int64 // per shard
	MaxDeadBytes int64 // per shard
	Resend       bool  // paid sends that were interrupted are repeated; false: held as unknown
}

// Keeper archives dead jobs before they are forgotten.
type Keeper interface {
	Keep(ctx context.Context, ids []job.ID) error
}

// Deps are what the reaper works with.
type Deps struct {
	Queue    Queue
	Keeper   Keeper // nil: there is no archive
	Observer Observer
	Clock    clock.Clock
	IDs      *job.Generator
	Roll     func() float64 // in [0,1)
	Log      *slog.Logger
}

const (
	page = 250
	// lead is much shorter than the lease of a job: a reaper that died with its workers delays nothing.
	lead = 5 * time.Second
)

// Reaper returns expired leases and forgets old dead jobs.
type Reaper struct {
	Deps
	cfg     Config
	name    string                   // among all reapers of the queue
	ring    map[int]engine.RingPlace // by shard
	weighed map[int]time.Time        // when the dead of a shard were measured
}

// New makes a reaper.
func New(cfg Config, deps Deps) *Reaper {
	return &Reaper{Deps: deps, cfg: cfg, name: rand.Text(), ring: map[int]engine.RingPlace{},
		weighed: map[int]time.Time{}}
}

// Run works until ctx ends. The pauses differ, so that reapers of several processes do not look at once.
func (r *Reaper) Run(ctx context.Context) error {
	pause := func() time.Duration { return time.Duration(float64(r.cfg.Every) * (0.75 + 0.5*r.Roll())) }
	return lifecycle.Repeat(ctx, pause, r.Log, "reaper", r.RunOnce)
}

// RunOnce reaps every expired lease once and trims the dead, on the shards that this reaper leads. A shard that does
// not answer keeps no other one waiting longer than the call.
func (r *Reaper) RunOnce(ctx context.Context) error {
	var problems []error
	for shard := range job.Shards {
		if err := r.shard(ctx, shard); err != nil {
			problems = append(problems, fmt.Errorf("shard %02d: %w", shard, err))
		}
	}
	return errors.Join(problems...)
}

func (r *Reaper) shard(ctx context.Context, shard int) error {
	for _, c := range job.Channels() {
		leads, err := r.reap(ctx, shard, c)
		if err != nil || !leads {
			return err
		}
	}
	next, err := r.Queue.TendRings(ctx, shard, r.ring[shard])
	if err != nil {
		return fmt.Errorf("tend the rings: %w", err)
	}
	r.ring[shard] = next
	return r.trim(ctx, shard)
}

// reap reports whether this reaper leads the shard.
func (r *Reaper) reap(ctx context.Context, shard int, c job.Channel) (bool, error) {
	for {
		fence, err := r.Queue.Lead(ctx, shard, engine.Reaping, r.name, lead)
		if err != nil || fence == 0 {
			return false, err
		}
		expired, err := r.Queue.Expired(ctx, shard, c, page)
		if err != nil || len(expired) == 0 {
			return true, err
		}
		list := make([]engine.Settlement, len(expired))
		decisions := make([]job.Expiry, len(expired))
		for i, e := range expired {
			list[i], decisions[i] = r.decide(e)
		}
		verdicts, err := r.Queue.Reap(ctx, shard, c, fence, list)
		if err != nil {
			return true, err
		}
		for i, v := range verdicts {
			if v.Done() {
				r.Observer.Reaped(c, decisions[i].String())
			}
		}
		if len(expired) < page {
			return true, nil
		}
	}
}

func (r *Reaper) decide(e engine.Expired) (engine.Settlement, job.Expiry) {
	e.Evidence.Resend = r.cfg.Resend
	decision, counters := job.DecideExpiry(e.Evidence)
	s := engine.Settlement{
		ID:      e.ID,
		Token:   e.Token,
		Op:      engine.OpRelease,
		Counter: counters.Packed(),
		Flow:    job.FlowOf(e.Raw),
		Delay:   time.Duration(r.Roll() * float64(counters.Spread())),
	}
	if body, err := job.DecodeBody(e.Raw); err == nil {
		s.Window = body.Window(e.ID.Lane().Priority)
	}
	switch decision {
	case job.ExpireDrop:
		s.Op = engine.OpDrop
	case job.ExpirePoison:
		r.end(&s, e, engine.OpFail, job.Failed, poisoned)
	case job.ExpireHold:
		r.end(&s, e, engine.OpUnknown, job.Unknown, interrupted)
	case job.ExpireCancel:
		r.end(&s, e, engine.OpCancel, job.Cancelled, nil)
	}
	return s, decision
}

// Why a job ends whose worker went silent.
var (
	poisoned    = job.Permanent("poisoned", "The workers that ran the task died four times; it is not tried again")
	interrupted = job.Doubt("worker_died", "The worker died while sending; the message may have been sent")
)

func (r *Reaper) end(s *engine.Settlement, e engine.Expired, op engine.Op, state job.State, why *job.Failure) {
	s.Op = op
	body, err := job.DecodeBody(e.Raw)
	if err != nil {
		body = &job.Body{CreatedMs: e.ID.CreatedMs()}
	}
	body.LastError, body.LastReason = "", ""
	if why != nil {
		body.LastError, body.LastReason = why.Message, why.Reason
	}
	if state == job.Unknown { // the send that began was an attempt
		body.Attempts++
		at := r.Clock.Now().UnixMilli()
		body.History = job.AppendHistory(body.History, job.Attempt{EndedMs: at, Error: why.Message, Reason: why.Reason})
	}
	record := job.RecordOf(body, state, r.Clock.Now().UnixMilli())
	s.Callbacks, err = worker.Callbacks(r.IDs, e.ID, body, &record)
	if err != nil {
		r.Log.Error("callbacks of an expired job cannot be built", "job_id", string(e.ID), "error", err)
	}
	s.Payload = record.Encode(nil)
}
