package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/rerun/internal/aftercommit"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/memory"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// Now is when the clock of a bench starts.
var Now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// Bench is every use case on one backend, with a clock that tests move.
type Bench struct {
	Backend

	T      testing.TB
	Counts *Counts
	Hand   *Hand
	ids    atomic.Int64
}

// Hand is a clock that a test moves.
type Hand struct{ past atomic.Int64 }

var _ clock.Clock = (*Hand)(nil)

func (h *Hand) Now() time.Time { return Now.Add(time.Duration(h.past.Load())) }

// Move lets time pass.
func (h *Hand) Move(d time.Duration) { h.past.Add(int64(d)) }

// Counts keeps what the use cases counted.
type Counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *Counts) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[name] += n
}

// Of returns a count.
func (c *Counts) Of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

// Requested implements the Counters of the use cases, as the methods below do.
func (c *Counts) Requested(t rerun.Type) { c.add("requested "+string(t), 1) }

// Failed counts "failed <step>".
func (c *Counts) Failed(step string) { c.add("failed "+step, 1) }

// Received counts "received", and the values as "values".
func (c *Counts) Received(_ bool, n int) { c.add("received", 1); c.add("values", n) }

// Fulfilled counts "fulfilled".
func (c *Counts) Fulfilled() { c.add("fulfilled", 1) }

// Closed counts "closed".
func (c *Counts) Closed(bool) { c.add("closed", 1) }

// Swept counts by outcome.
func (c *Counts) Swept(outcome string, n int) { c.add(outcome, n) }

// NewBench returns a bench in memory with the seeded reports.
func NewBench(t testing.TB) *Bench {
	t.Helper()
	return NewBenchOn(t, Memory)
}

// NewBenchOn is NewBench on another backend.
func NewBenchOn(t testing.TB, open Open) *Bench {
	t.Helper()
	b := &Bench{T: t, Counts: &Counts{n: map[string]int{}}, Hand: &Hand{}}
	b.Backend = open(t, b.Hand)
	seed(b.Fixture)
	return b
}

func (b *Bench) newID() string { return fmt.Sprintf("id-%d", b.ids.Add(1)) }

// atOnce does work after a commit before the answer, so that tests see its outcome.
type atOnce struct{ counts *Counts }

var _ aftercommit.Queue = (*atOnce)(nil)

func (a atOnce) Do(ctx context.Context, _ int64, name string, work func(context.Context) error) {
	if err := work(ctx); err != nil {
		a.counts.Failed(name)
	}
}

type noIndex struct{}

var _ aftercommit.Index = (*noIndex)(nil)

func (noIndex) SyncUser(context.Context, authn.LabScope, int64) error { return nil }

var quiet = slog.New(slog.DiscardHandler)

// Cases are the use cases of one process.
type Cases struct {
	Request *request.UseCase
	Receive *receive.UseCase
	Closing *closing.UseCase
}

// Cases returns the use cases of a process; nil lives for ever. Work after a commit is done before the answer.
func (b *Bench) Cases(m *Crashing) Cases { return b.CasesOn(m, atOnce{b.Counts}) }

// CasesOn is Cases with a queue for the work after a commit.
func (b *Bench) CasesOn(m *Crashing, queue aftercommit.Queue) Cases {
	if m == nil {
		m = &Crashing{}
	}
	documents, reports := crashingDocuments{b.Documents, m}, crashingReports{b.Reports, m}
	after := aftercommit.New(aftercommit.Deps{Queue: queue, Flags: crashingFlags{b.Reports, m},
		OpenSet: crashingCache{b.OpenSet, m}, Documents: documents, Index: noIndex{}})
	return Cases{
		Request: request.New(request.Deps{Reports: Requests{reports}, Records: documents, AfterCommit: after,
			Clock: b.Hand, NewID: b.newID, Log: quiet, Counters: b.Counts}),
		Receive: receive.New(receive.Deps{Reports: Receipts{reports}, Records: documents, Values: documents,
			AfterCommit: after, Clock: b.Hand, NewID: b.newID, Counters: b.Counts}),
		Closing: closing.New(closing.Deps{Reports: Closings{reports}, Documents: documents,
			Messages: delivery.Evaluations{}, WakeRelay: func() {}, AfterCommit: after, Clock: b.Hand, Counters: b.Counts}),
	}
}

// Sweep lets a fresh sweeper work once, ten minutes later.
func (b *Bench) Sweep() {
	b.T.Helper()
	b.Hand.Move(10 * time.Minute)
	if err := b.Sweeper().RunOnce(b.T.Context()); err != nil {
		b.T.Fatal(err)
	}
}

// Sweeper returns a fresh sweeper.
func (b *Bench) Sweeper() *sweep.Sweeper {
	return sweep.New(sweep.Deps{Config: sweep.Config{Interval: time.Minute, Age: 5 * time.Minute}, Leader: b.Reports,
		Reports: Sweeps{b.Reports}, Documents: b.Documents, OpenSet: b.OpenSet, Clock: b.Hand, Log: quiet,
		Counters: b.Counts})
}

// State is all that is stored about a report.
type State struct {
	Flag    rerun.Flag
	Cached  bool
	Records []rerun.Record
	Values  []rerun.Value
	Log     map[activitylog.Category][]json.RawMessage
	Present map[string]string // "profileTestId/index" → value
	Signed  bool
	Outbox  int
}

// State reads everything about a report of laboratory 12.
func (b *Bench) State(report int64) State {
	b.T.Helper()
	ctx, scope := b.T.Context(), Scope(b.T, 12)
	row := b.Fixture.Get(report)
	s := State{Flag: row.Flag, Signed: row.Signed, Log: map[activitylog.Category][]json.RawMessage{},
		Present: map[string]string{}, Outbox: len(row.Sent)}
	for _, e := range row.Log {
		s.Log[e.Category] = append(s.Log[e.Category], e.Meta)
	}
	for _, r := range row.Results {
		s.Present[fmt.Sprintf("%d/%d", r.ProfileTestID, r.Index)] = r.Value
	}
	entries, cacheErr := b.OpenSet.Entries(ctx, scope)
	s.Cached = slices.Contains(entries, report)
	var recordsErr, valuesErr error
	s.Records, recordsErr = b.Documents.OfReport(ctx, scope, report)
	s.Values, valuesErr = b.Documents.Values(ctx, scope, report)
	if err := errors.Join(cacheErr, recordsErr, valuesErr); err != nil {
		b.T.Fatal(err)
	}
	return s
}

// Change changes a report as another program would.
func (b *Bench) Change(report int64, change func(*memory.Row)) {
	b.T.Helper()
	row := b.Fixture.Get(report)
	change(&row)
	b.Fixture.Put(row)
}
