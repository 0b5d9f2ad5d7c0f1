package worker

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/quota"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Queue is the part of the engine used by a Pump. It must be safe for concurrent use.
type Queue interface {
	Claim(context.Context, engine.ClaimRequest) (engine.Claim, error)
	ReadBodies(ctx context.Context, jobs []engine.Leased) error
	Settle(ctx context.Context, shard int, c job.Channel, list []engine.Settlement) ([]engine.Verdict, error)
	Renew(ctx context.Context, shard int, c job.Channel, list []engine.Renewal) ([]engine.Renewed, error)
	MarkIntent(ctx context.Context, id job.ID, token int64, provider string) (bool, error)
	WaitBell(ctx context.Context, shard int, c job.Channel, d time.Duration) error
}

// Handler delivers one job. It must return soon after ctx ends. An error that is not a *job.Failure is retryable. The
// result is used even if there is an error.
type Handler interface {
	Handle(ctx context.Context, d Delivery) (job.Result, error)
}

// Observer counts claims, attempts and outcomes. It must not block.
type Observer interface {
	Claimed(c job.Channel, jobs int, took time.Duration)
	Attempt(c job.Channel, outcome string, took time.Duration)
	LeaseLost(c job.Channel)
	// Callbacks reports that n callback jobs were created, or dropped because too many of the laboratory's wait.
	Callbacks(n int, dropped bool)
	// Waited reports the time between a job's due time and its first attempt.
	Waited(l job.Lane, d time.Duration)
}

// Config holds the settings of one Pump.
type Config struct {
	Shard   int
	Channel job.Channel
	Lease   time.Duration // lease duration of the engine
	MaxRun  time.Duration // maximum time for which a lease is renewed
	Grace   time.Duration // how long handlers may continue at shutdown
}

// Deps are the dependencies of a Pump.
type Deps struct {
	Queue    Queue
	Pool     *Pool // slots of the channel
	Handler  Handler
	Observer Observer
	Clock    clock.Clock
	IDs      *job.Generator // for ids of callback jobs
	Roll     func() float64 // returns a random number in [0,1) for jitter
	Log      *slog.Logger
	Seals    *seal.Ring   // nil: payloads are not encrypted
	Bytes    *quota.Bytes // counts claimed and returned bytes; nil: no quota
}

const (
	maxClaim     = 250
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 2 * time.Second
	longestIdle  = time.Second
)

// Pump is a fetcher: it claims and runs the jobs of one channel on one shard.
type Pump struct {
	Deps
	cfg     Config
	running sync.Map  // *run of every handler that has not returned
	claimed chan *run // jobs not yet taken by a goroutine
	acks    *acks
	name    string // unique among all claimers of the queue
}

// New returns a Pump; Run starts it.
func New(cfg Config, deps Deps) *Pump {
	p := &Pump{Deps: deps, cfg: cfg, name: rand.Text(), claimed: make(chan *run, maxClaim)}
	p.Log = deps.Log.With("channel", cfg.Channel.String())
	p.Pool.join()
	p.acks = newAcks(p)
	return p
}

// Run works until ctx ends, then stops as described in the package comment. It returns nil.
func (p *Pump) Run(ctx context.Context) error {
	alive := context.WithoutCancel(ctx)
	p.acks.start(alive)
	stopRenewer := p.startRenewer(alive)
	p.claimLoop(ctx, alive)
	p.drain(alive)
	p.acks.stop()
	stopRenewer()
	return nil
}

func (p *Pump) claimLoop(ctx, alive context.Context) {
	backoff := firstBackoff
	q := engine.ClaimRequest{Shard: p.cfg.Shard, Channel: p.cfg.Channel, Claimer: p.name}
	for p.Pool.waitQuarter(ctx) {
		most := maxClaim
		if backoff > firstBackoff {
			most = 1 // Redis did not respond: leave the slots to other shards
		}
		places := p.Pool.reserve(ctx, most)
		if places == nil {
			continue
		}
		sent := p.Clock.Now()
		q.Max, q.Limits = places.places, places.limits
		claim, err := p.claim(alive, q, places)
		q.Doubt = err != nil
		if err != nil {
			if backoff == firstBackoff { // log once per outage
				p.Log.WarnContext(ctx, "claims fail, retrying", "error", err)
			}
			_ = lifecycle.Pause(ctx, backoff)
			backoff = min(2*backoff, maxBackoff)
			continue
		}
		backoff = firstBackoff
		q.Turn, q.After = q.Turn+len(claim.Jobs), claim.After
		if len(claim.Jobs) > 0 {
			q.Last = claim.Token
		}
		received := p.Clock.Now()
		if len(claim.Jobs) > 0 {
			p.Observer.Claimed(p.cfg.Channel, len(claim.Jobs), received.Sub(sent))
			p.dispatch(alive, claim, sent, received)
		}
		p.idle(ctx, claim, received)
	}
}

// claim leases jobs, assigns slots to them and reads their bodies. Another shard may claim while the bodies are read.
func (p *Pump) claim(ctx context.Context, q engine.ClaimRequest, places *reservation) (engine.Claim, error) {
	claim, err := p.Queue.Claim(ctx, q)
	places.take(claim.Jobs)
	if err != nil || len(claim.Jobs) == 0 {
		return claim, err
	}
	if err = p.Queue.ReadBodies(ctx, claim.Jobs); err != nil {
		for i := range claim.Jobs {
			p.Pool.release(claim.Jobs[i].Flow)
		}
	}
	return claim, err
}

// idle waits until the next job is due, a wake-up arrives, or the longest idle time has passed. If ready jobs were
// skipped because their flows are at their limits, it waits until slots become free.
func (p *Pump) idle(ctx context.Context, claim engine.Claim, received time.Time) {
	wait := longestIdle
	if claim.NextDueMs >= 0 {
		wait = min(wait, time.Duration(claim.NextDueMs-claim.NowMs)*time.Millisecond-p.Clock.Now().Sub(received))
	}
	if wait <= 0 || ctx.Err() != nil {
		return
	}
	if claim.Held {
		p.Pool.waitFreed(ctx, min(wait, quarterPatience))
		return
	}
	if err := p.Queue.WaitBell(ctx, p.cfg.Shard, p.cfg.Channel, wait); err != nil && ctx.Err() == nil {
		_ = lifecycle.Pause(ctx, min(wait, firstBackoff))
	}
}

func (p *Pump) dispatch(alive context.Context, claim engine.Claim, sent, received time.Time) {
	for i := range claim.Jobs {
		r := &run{
			id:        claim.Jobs[i].ID,
			flow:      claim.Jobs[i].Flow,
			raw:       claim.Jobs[i].Raw,
			claimedMs: claim.NowMs,
			received:  received,
			token:     claim.Token,
			leaseEnd:  sent.Add(p.cfg.Lease),
			started:   sent,
		}
		p.Bytes.Add(r.flow, -int64(len(r.raw)))
		r.ctx, r.cancel = context.WithCancelCause(alive)
		p.running.Store(r, nil)
		p.claimed <- r
		go p.serve()
	}
}

// serve runs jobs until none is left. Every job starts a goroutine, but if jobs are short, a few goroutines run all of
// them. That is faster, because a goroutine has to grow its stack for its first job.
func (p *Pump) serve() {
	for {
		select {
		case r := <-p.claimed:
			p.execute(r)
		default:
			return
		}
	}
}

func (p *Pump) drain(ctx context.Context) {
	if p.Pool.waitAll(ctx, p.cfg.Grace) {
		return
	}
	p.each(func(r *run) { r.cancel(errShutdown) })
	if !p.Pool.waitAll(ctx, p.cfg.Lease) {
		left := 0
		p.each(func(*run) { left++ })
		p.Log.Error("handlers did not return at shutdown; their leases run out", "handlers", left)
	}
}
