// Package submit converts the tasks of a request to jobs: it validates them, all or none, and enqueues them as one
// batch.
package submit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/quota"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Accepting is the part of the engine that accepts jobs.
type Accepting interface {
	Enqueue(context.Context, engine.Batch) (engine.Accepted, error)
	ReserveKey(ctx context.Context, shard int, key, hash string, keep time.Duration) error
	LookupWindow(ctx context.Context, shard int, key string) (job.ID, error)
}

// Observer counts accepted jobs by lane, and rejected requests.
type Observer interface {
	Enqueued(l job.Lane)
	Refused(reason string)
}

const (
	keepClientKey = 24 * time.Hour
	keepServerKey = time.Minute // longer than the retries within one call
	// windowTries is how often the batch is retried if a window changes between the read for an override and the batch.
	// Each change means that another request succeeded, so only a defective store changes it this often in a row.
	windowTries  = 200
	maxKeyLength = 255
)

// Acceptor accepts tasks: it validates a whole request, plans its jobs and passes them to the engine as one batch, so
// that a repeat of the request returns the same ids. It is safe for concurrent use.
type Acceptor struct {
	Checks
	Queue    Accepting
	IDs      *job.Generator
	Observer Observer
	Bytes    *quota.Bytes // nil: no quota
	Seals    *seal.Ring   // nil: payloads are not encrypted

	turn atomic.Uint64 // spreads requests over the shards
}

// Request is one call and its caller.
type Request struct {
	task.Caller
	Login          string // distinguishes callers with the same name, such as instruments; empty: the name is enough
	IdempotencyKey string // chosen by the caller; may be empty
	Traceparent    string // span that is continued by the executions of the jobs
	RequestID      string
}

// owner returns the owner of the idempotency key.
func (r *Request) owner() string { return r.Name + r.Login }

// Accept accepts all tasks or none and returns their ids in the order of the tasks. It may be repeated with the same
// IdempotencyKey; without one, only the retries within this call are safe. now is set if the tasks have no due times of
// their own.
func (a *Acceptor) Accept(
	ctx context.Context, r Request, tasks []task.Submission, now bool,
) ([]string, error) {
	planned, err := a.plan(r.Caller, tasks, now)
	return a.enqueue(ctx, r, planned, err)
}

// Map accepts dictionary mappings as one job each, all or none.
func (a *Acceptor) Map(ctx context.Context, r Request, list []task.Mapping) ([]string, error) {
	planned, err := a.planMappings(r.Caller, list)
	return a.enqueue(ctx, r, planned, err)
}

// enqueue submits planned jobs. wrong is the error of their validation; if set, it is returned.
func (a *Acceptor) enqueue(ctx context.Context, r Request, planned []Planned, wrong error) ([]string, error) {
	if wrong == nil && len(r.IdempotencyKey) > maxKeyLength {
		wrong = apperr.InvalidField("idempotency_key",
			fmt.Sprintf("the idempotency key is longer than %d bytes", maxKeyLength))
	}
	if wrong != nil {
		reason := refusedInvalid
		if apperr.Is(wrong, apperr.Unavailable) {
			reason = refusedUnserved
		}
		a.Observer.Refused(reason)
		return nil, wrong
	}
	ctx, span := produced(ctx, planned)
	defer span.End()
	r.Traceparent = traceparent(ctx)
	g := a.group(r, planned)
	accepted, err := a.hand(ctx, g)
	for try := 1; try < windowTries && errors.Is(err, engine.ErrWindowChanged); try++ {
		accepted, err = a.hand(ctx, g)
	}
	if err != nil {
		reason, answer := refusal(err)
		a.Observer.Refused(reason)
		span.SetStatus(codes.Error, reason)
		return nil, answer
	}
	if accepted.Replay && r.IdempotencyKey != "" {
		idempotency.MarkReplayed(ctx)
	}
	ids := make([]string, len(planned))
	for i, slot := range g.slot {
		ids[i] = string(accepted.IDs[slot])
		if !accepted.Replay {
			a.Observer.Enqueued(planned[i].Lane)
		}
	}
	return ids, nil
}

// group is a request in the form accepted by one script on one shard.
type group struct {
	Request
	key   string
	hash  string
	tasks []Planned // at most one per window
	slot  []int     // position in tasks of each task of the request
	shard int       // shard of the jobs
	keyAt int       // shard of the idempotency key
}

func (a *Acceptor) group(r Request, planned []Planned) *group {
	g := &group{Request: r}
	known := map[string]int{}
	for i := range planned {
		g.add(planned[i], known)
	}
	g.identify()
	a.place(g)
	return g
}

// place selects the shard of a request. A request with windows goes to the shard of its owner's windows, so that one
// script can accept several; otherwise the shard is given by the hash of the idempotency key, or is the next in turn.
func (a *Acceptor) place(g *group) {
	g.shard = int(a.turn.Add(1) % job.Shards)
	if g.IdempotencyKey != "" {
		g.shard = engine.ShardOf(g.owner() + "\x00" + g.IdempotencyKey)
	}
	g.keyAt = g.shard
	for i := range g.tasks {
		if g.tasks[i].window != "" {
			g.shard = engine.ShardOf("window\x00" + g.tasks[i].Body.Owner())
			return
		}
	}
}

// add adds a task to the group. A second task of the same window joins or overrides the first one immediately. known
// maps windows to positions in tasks.
func (g *group) add(p Planned, known map[string]int) {
	at, joins := known[p.window]
	switch {
	case !joins || p.window == "":
		at = len(g.tasks)
		known[p.window] = at
		g.tasks = append(g.tasks, p)
	case p.Override:
		g.tasks[at] = p
	}
	g.slot = append(g.slot, at)
}

// identify computes the hash by which a repeat of the request is recognized. It covers the tasks as sent, without
// additions (times, the country of a number), and only the digest of a window's key.
func (g *group) identify() {
	h := sha256.New()
	var buffer []byte
	for i := range g.tasks {
		p := &g.tasks[i]
		body := p.Body
		body.WindowKey, body.Flow = "", job.IdentityFlow(body.Flow, body.LabID)
		buffer = body.Encode(buffer[:0])
		_, _ = fmt.Fprintf(h, "%d/%d/%d/%s/%t:", len(buffer), p.DueMs, p.Lane.Priority, p.window, p.Override)
		_, _ = h.Write(buffer)
	}
	g.hash = hex.EncodeToString(h.Sum(nil)[:16])
	if g.IdempotencyKey != "" {
		g.key = job.Digest(g.owner(), strconv.FormatInt(g.LabID, 10), g.IdempotencyKey)
	}
}

// hand submits the group to the engine, after reading the windows that it overrides.
func (a *Acceptor) hand(ctx context.Context, g *group) (accepted engine.Accepted, err error) {
	batch := a.batch(g)
	if g.key != "" && g.keyAt != g.shard {
		err = a.Queue.ReserveKey(ctx, g.keyAt, g.key, g.hash, keepClientKey)
	}
	for i := 0; err == nil && i < len(batch.Jobs); i++ {
		if w := batch.Jobs[i].Window; w != nil && w.Override {
			w.Seen, err = a.Queue.LookupWindow(ctx, g.shard, w.Key)
		}
	}
	if err != nil {
		return engine.Accepted{}, err
	}
	accepted, err = a.Queue.Enqueue(ctx, batch)
	if err == nil && !accepted.Replay {
		for flow, n := range bytesOf(batch.Jobs) {
			a.Bytes.Add(flow, n)
		}
	}
	return accepted, err
}

func (a *Acceptor) batch(g *group) engine.Batch {
	now := a.Clock.Now().UnixMilli()
	b := engine.Batch{IdempotencyKey: g.key, KeepKey: keepClientKey, RequestHash: g.hash,
		Jobs: make([]engine.NewJob, len(g.tasks))}
	for i := range g.tasks {
		p := &g.tasks[i]
		body := p.Body
		body.CreatedMs, body.Traceparent, body.RequestID = now, g.Traceparent, g.RequestID
		body.Data = task.WithRecipient(body.Data, p.to)
		if body.ExpiresMs > 0 {
			body.ExpiresMs += max(now, p.DueMs)
		}
		a.Seals.Seal(&body, p.Lane.Channel)
		b.Jobs[i] = engine.NewJob{ID: a.IDs.Next(g.shard, p.Lane), DueMs: p.DueMs, Flow: body.Flow, Body: body.Encode(nil)}
		if p.window != "" {
			b.Jobs[i].Window = &engine.Window{Key: p.window, Override: p.Override}
		}
	}
	if b.IdempotencyKey == "" {
		b.IdempotencyKey, b.KeepKey, b.OwnKey = "auto:"+string(b.Jobs[0].ID), keepServerKey, true
	}
	for flow, n := range bytesOf(b.Jobs) {
		b.Full = b.Full || !a.Bytes.Fits(flow, n)
	}
	return b
}

// bytesOf returns the bytes that the jobs take in Redis, by flow.
func bytesOf(jobs []engine.NewJob) map[job.Flow]int64 {
	sizes := map[job.Flow]int64{}
	for i := range jobs {
		sizes[jobs[i].Flow] += int64(len(jobs[i].Body))
	}
	return sizes
}
