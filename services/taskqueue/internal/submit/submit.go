// Package submit owns the acceptance of tasks: it checks a whole request, plans its jobs and hands them to the
// engine as one batch, so that a repeat of the request returns the same ids.
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

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/quota"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Queue is the part of the engine that accepts jobs.
type Queue interface {
	Enqueue(context.Context, engine.Batch) (engine.Accepted, error)
	ReserveKey(ctx context.Context, shard int, key, hash string, keep time.Duration) error
	LookupWindow(ctx context.Context, shard int, key string) (job.ID, error)
}

// Observer counts accepted jobs by lane, and refused requests.
type Observer interface {
	Enqueued(l job.Lane)
	Refused(reason string)
}

// Why a request was refused.
const (
	refusedInvalid     = "invalid"
	refusedConflict    = "idempotency_key_reused"
	refusedLaboratory  = "laboratory_full"
	refusedLane        = "lane_full"
	refusedMemory      = "memory_full"
	refusedUnconfirmed = "unconfirmed"
	refusedUnavailable = "unavailable"
)

// Refusals lists them.
func Refusals() []string {
	return []string{refusedInvalid, refusedConflict, refusedLaboratory, refusedLane, refusedMemory, refusedUnconfirmed,
		refusedUnavailable}
}

const (
	keepClientKey = 24 * time.Hour
	keepServerKey = time.Minute // longer than any resend after a lost reply
	// windowTries bounds how often a window may change between an override's look and its batch. Each loss means that
	// somebody else got on, so losing this often in a row takes a broken store.
	windowTries  = 200
	maxKeyLength = 255
	fullRetry    = 5 * time.Second
	labRetry     = time.Minute
)

// Deps are what the use case works with.
type Deps struct {
	Queue     Queue
	Validator *task.Validator
	IDs       *job.Generator
	Clock     clock.Clock
	Observer  Observer
	Bytes     *quota.Bytes // nil: as many bytes as come
	Seals     *seal.Ring   // nil: payloads are stored as they are
}

// Submitter accepts requests. Safe for concurrent use.
type Submitter struct {
	Deps
	turn atomic.Uint64 // spreads requests over the shards
}

// New makes a submitter.
func New(deps Deps) *Submitter { return &Submitter{Deps: deps} }

// Request is one call.
type Request struct {
	Caller         task.Caller
	Tasks          []task.Submission
	IdempotencyKey string // of the caller; may be empty
	Traceparent    string
	RequestID      string
}

// Submit accepts all tasks or none. The ids are in the order of the tasks. It is safe to repeat with the same
// IdempotencyKey; without one only this very call repeats safely inside.
func (s *Submitter) Submit(ctx context.Context, r Request) ([]job.ID, error) {
	planned, err := s.plan(r)
	if err != nil {
		s.Observer.Refused(refusedInvalid)
		return nil, err
	}
	return s.enqueue(ctx, r, planned)
}

// Map accepts dictionary mappings, one job each, all or none; r has no tasks.
func (s *Submitter) Map(ctx context.Context, r Request, list []task.Mapping) ([]job.ID, error) {
	if err := task.TooMany("mappings", len(list)); err != nil {
		return nil, err
	}
	planned, wrong := s.Validator.CheckMappings(list, r.Caller)
	if len(wrong) > 0 {
		return nil, apperr.InvalidFields(wrong...)
	}
	return s.enqueue(ctx, r, planned)
}

func (s *Submitter) enqueue(ctx context.Context, r Request, planned []task.Planned) ([]job.ID, error) {
	if len(r.IdempotencyKey) > maxKeyLength {
		return nil, apperr.InvalidField("idempotency_key",
			fmt.Sprintf("the idempotency key is longer than %d bytes", maxKeyLength))
	}
	g := s.group(r, planned)
	accepted, err := s.accept(ctx, g)
	if err != nil {
		s.Observer.Refused(refusal(err))
		return nil, err
	}
	ids := make([]job.ID, len(planned))
	for i, slot := range g.slot {
		ids[i] = accepted.IDs[slot]
		if !accepted.Replay {
			s.Observer.Enqueued(planned[i].Lane)
		}
	}
	return ids, nil
}

func (s *Submitter) plan(r Request) ([]task.Planned, error) {
	if err := task.TooMany("tasks", len(r.Tasks)); err != nil {
		return nil, err
	}
	planned := make([]task.Planned, len(r.Tasks))
	var wrong []apperr.Field
	for i, t := range r.Tasks {
		p, fields := s.Validator.Check(i, t, r.Caller)
		planned[i] = p
		wrong = append(wrong, fields...)
	}
	if len(wrong) > 0 {
		return nil, apperr.InvalidFields(wrong...)
	}
	return planned, nil
}

// group is a request as one script accepts it, on one shard.
type group struct {
	key    string
	keep   time.Duration
	hash   string
	slot   []int // position among the jobs of each task: tasks of one window share it
	tasks  []task.Planned
	window []string // window identity per job, "" for none
	trace  string
	id     string // of the request
	shard  int    // where it is accepted
	keyAt  int    // where its key is looked for
}

func (s *Submitter) group(r Request, planned []task.Planned) *group {
	g := &group{trace: r.Traceparent, id: r.RequestID}
	known := map[string]int{}
	for i := range planned {
		g.add(planned[i], known)
	}
	g.seal(r)
	s.place(g, r)
	return g
}

// place chooses the shard of a request by what it must find again: the windows of an owner live on one shard, so that a
// request over several is one script; a key lives where its hash says; the others go round.
func (s *Submitter) place(g *group, r Request) {
	g.shard = int(s.turn.Add(1) % job.Shards)
	if r.IdempotencyKey != "" {
		g.shard = engine.ShardOf(r.Caller.Name + "\x00" + r.IdempotencyKey)
	}
	g.keyAt = g.shard
	for i := range g.tasks {
		if g.window[i] != "" {
			g.shard = engine.ShardOf("window\x00" + g.tasks[i].Body.Owner())
			return
		}
	}
}

// add puts a task into the group. A second task of the same window joins or overrides the first at once; known tells
// the positions of the windows.
func (g *group) add(p task.Planned, known map[string]int) {
	body := p.Body
	body.WindowKey = p.WindowKey
	window := body.Window(p.Lane.Priority)
	if at, joined := known[window]; joined && window != "" {
		if p.Override {
			g.tasks[at] = p
		}
		g.slot = append(g.slot, at)
		return
	}
	known[window] = len(g.tasks)
	g.slot = append(g.slot, len(g.tasks))
	g.tasks = append(g.tasks, p)
	g.window = append(g.window, window)
}

// seal computes what identifies the request. The times of acceptance are not in it.
func (g *group) seal(r Request) {
	h := sha256.New()
	var buffer []byte
	for i := range g.tasks {
		p := &g.tasks[i]
		buffer = p.Body.Encode(buffer[:0])
		_, _ = fmt.Fprintf(h, "%d/%d/%d/%s/%t:", len(buffer), p.DueMs, p.Lane.Priority, g.window[i], p.Override)
		_, _ = h.Write(buffer)
	}
	g.hash = hex.EncodeToString(h.Sum(nil)[:16])
	if r.IdempotencyKey != "" {
		g.key, g.keep = job.Digest(r.Caller.Name, strconv.FormatInt(r.Caller.LabID, 10), r.IdempotencyKey), keepClientKey
	}
}

// accept hands a group to the engine; a window that changed under an override is read again.
func (s *Submitter) accept(ctx context.Context, g *group) (engine.Accepted, error) {
	for range windowTries {
		accepted, err := s.hand(ctx, g)
		if err == nil {
			return accepted, nil
		}
		if !errors.Is(err, engine.ErrWindowChanged) {
			return engine.Accepted{}, explain(err)
		}
	}
	return engine.Accepted{}, unavailable(engine.ErrWindowChanged)
}

func (s *Submitter) hand(ctx context.Context, g *group) (engine.Accepted, error) {
	batch, err := s.batch(g)
	if err == nil && g.key != "" && g.keyAt != g.shard {
		err = s.Queue.ReserveKey(ctx, g.keyAt, g.key, g.hash, g.keep)
	}
	if err == nil {
		err = s.look(ctx, g.shard, batch.Jobs)
	}
	if err != nil {
		return engine.Accepted{}, err
	}
	accepted, err := s.Queue.Enqueue(ctx, batch)
	if err == nil && !accepted.Replay {
		for flow, n := range bytesOf(batch.Jobs) {
			s.Bytes.Add(flow, n)
		}
	}
	return accepted, err
}

func (s *Submitter) batch(g *group) (engine.Batch, error) {
	now := s.Clock.Now().UnixMilli()
	b := engine.Batch{
		IdempotencyKey: g.key,
		KeepKey:        g.keep,
		RequestHash:    g.hash,
		Jobs:           make([]engine.NewJob, len(g.tasks)),
	}
	for i := range g.tasks {
		p := &g.tasks[i]
		id, err := s.IDs.Next(g.shard, p.Lane)
		if err != nil {
			return b, fmt.Errorf("make a job id: %w", err)
		}
		body := p.Body
		body.CreatedMs, body.Traceparent, body.RequestID, body.WindowKey = now, g.trace, g.id, p.WindowKey
		if body.ExpiresMs > 0 {
			body.ExpiresMs += max(now, p.DueMs)
		}
		s.Seals.Seal(&body, p.Lane.Channel)
		b.Jobs[i] = engine.NewJob{ID: id, DueMs: p.DueMs, Flow: body.Flow, Body: body.Encode(nil)}
		if g.window[i] != "" {
			b.Jobs[i].Window = &engine.Window{Key: g.window[i], Override: p.Override}
		}
	}
	if b.IdempotencyKey == "" {
		b.IdempotencyKey, b.KeepKey, b.OwnKey = "auto:"+string(b.Jobs[0].ID), keepServerKey, true
	}
	for flow, n := range bytesOf(b.Jobs) {
		b.Full = b.Full || !s.Bytes.Fits(flow, n)
	}
	return b, nil
}

// bytesOf counts what jobs take in Redis, by flow.
func bytesOf(jobs []engine.NewJob) map[job.Flow]int64 {
	sizes := map[job.Flow]int64{}
	for i := range jobs {
		sizes[jobs[i].Flow] += int64(len(jobs[i].Body))
	}
	return sizes
}

func (s *Submitter) look(ctx context.Context, shard int, jobs []engine.NewJob) error {
	for i := range jobs {
		if jobs[i].Window == nil || !jobs[i].Window.Override {
			continue
		}
		seen, err := s.Queue.LookupWindow(ctx, shard, jobs[i].Window.Key)
		if err != nil {
			return err
		}
		jobs[i].Window.Seen = seen
	}
	return nil
}

// refusal names what explain says.
func refusal(err error) string {
	for _, known := range []struct {
		err    error
		reason string
	}{
		{engine.ErrConflict, refusedConflict}, {engine.ErrFlowFull, refusedLaboratory}, {engine.ErrLaneFull, refusedLane},
		{engine.ErrMemoryFull, refusedMemory}, {engine.ErrUnconfirmed, refusedUnconfirmed},
	} {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	return refusedUnavailable
}

func explain(err error) error {
	switch {
	case errors.Is(err, engine.ErrConflict):
		return apperr.New(apperr.Conflict, "IDEMPOTENCY_KEY_REUSED",
			"This idempotency key was used for other tasks; use a new key for a new request").WithCause(err)
	case errors.Is(err, engine.ErrUnconfirmed):
		return apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE", "The tasks are not safe yet on a second machine or the disk; "+
			"send them again with the same Idempotency-Key in a few seconds").WithRetryAfter(fullRetry).WithCause(err)
	case errors.Is(err, engine.ErrFlowFull):
		return apperr.New(apperr.TooManyRequests, "LABORATORY_QUEUE_FULL", "Too many tasks of this laboratory wait; "+
			"send more when some were delivered, or cancel what is not needed").WithRetryAfter(labRetry).WithCause(err)
	case errors.Is(err, engine.ErrLaneFull), errors.Is(err, engine.ErrMemoryFull):
		return apperr.New(apperr.Unavailable, "QUEUE_FULL", "The queue is full; try again in a few seconds").
			WithRetryAfter(fullRetry).
			WithCause(err)
	}
	return unavailable(err)
}

func unavailable(err error) error {
	return apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE", "The queue cannot be reached; try again in a few seconds").
		WithRetryAfter(fullRetry).
		WithCause(err)
}
