// Package storetest is the suite that every store of the callout service passes: whole use cases over its interfaces.
package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/history"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// What every store of the suite holds. Laboratory 12 has bill 400 of organisation 45 and doctor 301, with report
// Potassium of test 66 (department 5) and report Count of test 55 (department 4); and bill 401 of the same patient with
// report Second of test 66. Laboratory 13 has bill 500 with report Foreign of test 66. All states are 0, all samples
// collected, no values. Index 2 of test 66 is normal from 3.5 to 5.1 and critical outside 2.5 to 6.5; index 1 of test
// 55 from 13 to 17 and outside 7 to 20; index 3 of test 55 has no critical limits. Department 5 is doctor 302's,
// department 4 is lab user 78's.
const (
	Bill        = 400
	SecondBill  = 401
	ForeignBill = 500

	Potassium = 7001
	Count     = 7002
	Second    = 7003
	Foreign   = 7100

	Patient        = 501
	PotassiumIndex = 2
	CountIndex     = 1
	UnlimitedIndex = 3
)

// Pace is what stores are opened with.
var Pace = callout.Pace{After: 30 * time.Minute, Most: 2}

// Reader is the part of a store that has no roles.
type Reader interface {
	records.Store
	history.Store
	worklist.Store
	delivery.Deadlines
	settings.Store
}

// Backend is a store with what the suite does behind its back.
type Backend struct {
	Reader
	Callouts    save.Store
	Evaluations evaluate.Store
	Escalations escalate.Store
	Reaps       reap.Store
	Sweeps      sweep.Store

	// SetValue replaces the value of a report; SetStatus its state, and both change the row.
	SetValue  func(report int64, index int, value string)
	SetStatus func(report int64, s callout.Status)
	Dismiss   func(report int64)
	// MoveToBill is what a bill split does.
	MoveToBill func(report, bill int64)
	// Setting sets what a laboratory decides.
	Setting func(lab int64, own callout.Settings)
	// Sent returns the kinds and keys of the messages that were made durable.
	Sent func() []outbox.Event
}

// Clock is one that tests move.
type Clock struct {
	mu  sync.Mutex
	now time.Time // guarded by mu
}

// NewClock starts at a full second.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)} }

func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move lets time pass.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Lab returns the scope of a laboratory.
func Lab(t testing.TB, id int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Service}.Scope(id)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Fixture is a backend with the use cases over it.
type Fixture struct {
	Backend
	T     *testing.T
	Clock *Clock
	Count *Counters

	List     *records.UseCase
	History  *history.UseCase
	Save     *save.UseCase
	Evaluate *evaluate.UseCase
	Escalate *escalate.UseCase
	Worklist *worklist.UseCase
	Jobs     *Jobs
	Reaper   *reap.Reaper
	Sweeper  *sweep.Sweeper
}

// NewFixture puts the use cases over a backend.
func NewFixture(t *testing.T, b Backend, c *Clock) *Fixture {
	t.Helper()
	n := &Counters{}
	x := &Fixture{Backend: b, T: t, Clock: c, Count: n, Jobs: &Jobs{}}
	m, wake := delivery.Messages{}, func() {}
	x.List, x.History, x.Worklist = records.New(b), history.New(b), worklist.New(b, c)
	x.Save = save.New(save.Deps{Store: b.Callouts, Messages: m, Clock: c, WakeRelay: wake, Counters: n, Signals: n})
	x.Evaluate = evaluate.New(
		evaluate.Deps{
			Store: b.Evaluations, Messages: m, Clock: c, WakeRelay: wake, Counters: n, Signals: n, Log: silent(),
		},
	)
	x.Escalate = escalate.New(
		escalate.Deps{Store: b.Escalations, Messages: m, Clock: c, WakeRelay: wake, Counters: n, Signals: n},
	)
	x.Reaper = reap.New(reap.Deps{
		Config: reap.Config{
			AdoptWithin: 100_000 * time.Hour,
		},
		Store:     b.Reaps,
		Evaluator: x.Evaluate,
		Escalator: x.Escalate,
		Jobs:      x.Jobs,
		Clock:     c,
		Log:       silent(),
		Counters:  n,
	})
	x.Sweeper = sweep.New(
		sweep.Config{Lookback: 1000 * 24 * time.Hour, Settled: -1000 * 24 * time.Hour},
		b.Sweeps,
		x.Evaluate,
		c,
		n,
	)
	return x
}

// SodiumIndex is of the sodium beside the potassium, see NewProfile.
const SodiumIndex = 4

// NewProfile puts the use cases over a store in memory, where the report of the potassium has a sodium with critical
// limits, too. It returns the potassium's format beside them.
func NewProfile(t *testing.T) (*Fixture, int64) {
	t.Helper()
	c := NewClock()
	s := MemoryStore(t, c)
	sodium := s.Formats[66][0]
	potassium := sodium.ID
	sodium.ID, sodium.Index, sodium.Order = 6604, SodiumIndex, SodiumIndex
	s.Formats[66] = append(s.Formats[66], sodium)
	return NewFixture(t, Over(t, s), c), potassium
}

// Asha is a lab user of everything.
var Asha = save.Performer{
	UserID: 77,
	Actor:  authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"},
	Sees:   callout.Visibility{Rule: callout.Everything},
}
