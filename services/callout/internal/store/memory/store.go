// Package memory keeps the callout service's state in maps, for tests of the use cases. It passes the suite of
// storetest.
package memory

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/history"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// Report is a report of a laboratory. Changed counts the changes of its row.
type Report struct {
	callout.Report
	LabID     int64
	Dismissed bool
	Changed   int
	ChangedAt time.Time
}

// Bill is a bill of a laboratory.
type Bill struct {
	callout.Bill
	LabID int64
}

type row struct {
	save.Row
	ID, LabID int64
}

type episode struct {
	callout.Episode
	LabID      int64
	NoticesOff bool
	ClosedAt   time.Time
	ClosedBy   string
}

type entry struct {
	activitylog.Entry
	LabID int64
}

// state is what transactions change.
type state struct {
	reports    map[int64]Report
	rows       []row
	episodes   []episode
	jobs       map[int64]string
	evaluated  map[int64]int
	memories   map[int64]evaluate.Memory
	unclear    map[int64]time.Time
	corrected  map[int64]correction
	log        []entry
	sent       []outbox.Event
	sweptUntil time.Time
}

// Store is safe for concurrent use. What is exported is set before it is used.
type Store struct {
	Bills             map[int64]Bill
	Formats           callout.Formats
	DoctorDepartments map[int64][]int64
	UserDepartments   map[int64][]int64
	Decided           map[int64]callout.Settings // by laboratory
	Administrators    map[int64]int64            // laboratories by user
	// Step is called before every change inside a transaction; its error rolls the transaction back. It may be nil.
	Step func() error

	clock clock.Clock
	pace  callout.Pace
	own   map[int64]settings.Own
	mu    sync.Mutex
	state state // guarded by mu
}

var (
	_ escalate.Store = (*Store)(nil)
	_ evaluate.Store = (*Store)(nil)
	_ history.Store  = (*Store)(nil)
	_ records.Store  = (*Store)(nil)
	_ save.Store     = (*Store)(nil)
	_ settings.Store = (*Store)(nil)
	_ sweep.Store    = (*Store)(nil)
	_ worklist.Store = (*Store)(nil)
)

// New returns an empty store.
func New(c clock.Clock, pace callout.Pace) *Store {
	return &Store{
		Bills:             map[int64]Bill{},
		Formats:           callout.Formats{},
		DoctorDepartments: map[int64][]int64{},
		UserDepartments:   map[int64][]int64{},
		Decided:           map[int64]callout.Settings{},
		Administrators:    map[int64]int64{},
		own:               map[int64]settings.Own{},
		clock:             c,
		pace:              pace,
		state: state{
			reports:   map[int64]Report{},
			jobs:      map[int64]string{},
			evaluated: map[int64]int{},
			memories:  map[int64]evaluate.Memory{},
			unclear:   map[int64]time.Time{},
			corrected: map[int64]correction{},
		},
	}
}

func (s state) clone() state {
	return state{
		maps.Clone(s.reports), slices.Clone(s.rows), slices.Clone(s.episodes), maps.Clone(s.jobs), maps.Clone(s.evaluated),
		maps.Clone(s.memories), maps.Clone(s.unclear), maps.Clone(s.corrected),
		slices.Clone(s.log), slices.Clone(s.sent), s.sweptUntil,
	}
}

// Change changes a report's row, as another service would.
func (s *Store) Change(id int64, change func(*Report)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.state.reports[id]
	r.Chart.Readings = slices.Clone(r.Chart.Readings)
	change(&r)
	r.Changed++
	r.ChangedAt = s.clock.Now()
	s.state.reports[id] = r
}

// Sent are the messages that were committed.
func (s *Store) Sent() []outbox.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.sent)
}

// sees reports whether a rule shows the report.
func (s *Store) sees(v callout.Visibility, r Report) bool {
	department := func(list []int64) bool {
		return r.Test.DepartmentID != nil && slices.Contains(list, *r.Test.DepartmentID)
	}
	switch v.Rule {
	case callout.Everything:
		return true
	case callout.SessionDepartments:
		return department(v.Departments)
	case callout.DoctorDepartments:
		return department(s.DoctorDepartments[v.PersonID])
	case callout.UserDepartments:
		return department(s.UserDepartments[v.PersonID])
	case callout.DoctorBills:
		return s.Bills[r.BillID].DoctorID == v.PersonID
	default:
		return false
	}
}

func (s *Store) bill(scope authn.LabScope, id int64) (callout.Bill, error) {
	b, ok := s.Bills[id]
	if !ok || b.LabID != scope.LabID() {
		return callout.Bill{}, callout.ErrNoBill
	}
	return b.Bill, nil
}

// pick returns the reports of the laboratory that are not dismissed and fulfil the condition, by id.
func (s *Store) pick(scope authn.LabScope, condition func(Report) bool) []callout.Report {
	var picked []callout.Report
	for _, id := range slices.Sorted(maps.Keys(s.state.reports)) {
		if r := s.state.reports[id]; r.LabID == scope.LabID() && !r.Dismissed && condition(r) {
			picked = append(picked, r.Report)
		}
	}
	return picked
}

func (s *Store) View(
	_ context.Context, scope authn.LabScope, billID int64, v callout.Visibility,
) (records.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.bill(scope, billID); err != nil {
		return records.View{}, err
	}
	view := records.View{Formats: s.Formats, Reports: s.pick(scope, func(r Report) bool {
		return r.BillID == billID && r.SampleTaken && (r.Status.Open() || r.Status == callout.Done) && s.sees(v, r)
	})}
	view.Opened = map[int64][]callout.Parameter{}
	for _, e := range s.waiting() {
		view.Opened[e.ReportID] = e.Parameters
	}
	for _, r := range s.state.rows {
		if r.LabID == scope.LabID() && r.Bill.ID == billID && r.ReportID == 0 {
			view.Draft = &callout.Draft{
				Recipients:  r.Recipients,
				Comment:     r.Comment,
				ValuesMeta:  r.ValuesMeta,
				CalloutMeta: r.CalloutMeta,
			}
		}
	}
	return view, nil
}
