package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Row is a report with everything that the relational database keeps of it.
type Row struct {
	rerun.Report
	Tests   []int64 // its own and those of its profile children
	Results []rerun.Result
	Log     []Logged
	Sent    []outbox.Event
}

// Logged is an entry of the activity log with its meta as JSON.
type Logged struct {
	activitylog.Entry
	Meta []byte
}

// Reports holds the rows of reports and the formats of tests.
type Reports struct {
	mu         sync.Mutex
	rows       map[int64]*Row // guarded by mu
	parameters []rerun.Parameter
	ids        int64 // last id of a log entry or a result

	locks sync.Map // report id → *sync.Mutex, the row lock
	lead  sync.Mutex
}

// NewReports returns a store without reports.
func NewReports() *Reports { return &Reports{rows: map[int64]*Row{}} }

// Put adds a report or replaces it.
func (s *Reports) Put(row Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range row.Results {
		s.ids++
		row.Results[i].ID = s.ids
	}
	s.rows[row.ID] = &row
}

// Get returns a report as it is committed now.
func (s *Reports) Get(id int64) (Row, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.rows[id]
	if !ok {
		return Row{}, false
	}
	return row.clone(), true
}

func (r *Row) clone() Row {
	c := *r
	c.Results, c.Log, c.Sent = slices.Clone(r.Results), slices.Clone(r.Log), slices.Clone(r.Sent)
	return c
}

// AddParameter adds an enabled format.
func (s *Reports) AddParameter(p rerun.Parameter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parameters = append(s.parameters, p)
}

func (s *Reports) get(scope authn.LabScope, id int64) (Row, error) {
	row, ok := s.Get(id)
	if !ok || row.LabID != scope.LabID() {
		return Row{}, rerun.ErrNoReport
	}
	return row, nil
}

// Flag reads the report's flag as it is committed now.
func (s *Reports) Flag(_ context.Context, scope authn.LabScope, id int64) (rerun.Flag, error) {
	row, err := s.get(scope, id)
	return row.Flag, err
}

// PresentValues maps an index to the report's value, but for indices that two tests share.
func (s *Reports) PresentValues(_ context.Context, scope authn.LabScope, id int64) (map[int]string, error) {
	row, err := s.get(scope, id)
	present, shared := map[int]string{}, map[int]bool{}
	for _, r := range row.Results {
		_, shared[r.Index] = present[r.Index]
		present[r.Index] = r.Value
	}
	maps.DeleteFunc(present, func(index int, _ string) bool { return shared[index] })
	if err != nil {
		return map[int]string{}, nil //nolint:nilerr // as the database: no row, no values
	}
	return present, nil
}

// LogFailure writes an entry in a transaction of its own.
func (s *Reports) LogFailure(ctx context.Context, scope authn.LabScope, id int64, e activitylog.Entry) error {
	row, err := s.get(scope, id)
	if err != nil {
		return nil //nolint:nilerr // the log has no foreign key: an entry about an unknown report is kept nowhere here
	}
	l := Locked{store: s, row: row}
	if _, err := l.Log(ctx, e); err != nil {
		return err
	}
	s.commit(l.row)
	return nil
}

func (s *Reports) commit(row Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[row.ID] = &row
}

// Lock runs work while it holds the row, and commits what it changed.
func (s *Reports) Lock(_ context.Context, scope authn.LabScope, id int64, work func(*Locked) error) error {
	held, _ := s.locks.LoadOrStore(id, &sync.Mutex{})
	lock := held.(*sync.Mutex)
	lock.Lock()
	defer lock.Unlock()
	row, err := s.get(scope, id)
	if err != nil {
		return err
	}
	l := &Locked{store: s, row: row, before: row.Report}
	if err := work(l); err != nil {
		return err
	}
	s.commit(l.row)
	return nil
}

// Lead runs work unless another process leads.
func (s *Reports) Lead(ctx context.Context, work func(context.Context) error) error {
	if !s.lead.TryLock() {
		return nil
	}
	defer s.lead.Unlock()
	return work(ctx)
}

// Laboratories returns the laboratories that have a report.
func (s *Reports) Laboratories(context.Context) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[int64]bool{}
	for _, row := range s.rows {
		found[row.LabID] = true
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// OpenLaboratories returns the laboratories that have a report with an open rerun.
func (s *Reports) OpenLaboratories(context.Context) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[int64]bool{}
	for _, row := range s.rows {
		if row.Flag.Open() {
			found[row.LabID] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Flags returns the flags of the reports that the laboratory has.
func (s *Reports) Flags(_ context.Context, scope authn.LabScope, ids []int64) (map[int64]rerun.Flag, error) {
	flags := map[int64]rerun.Flag{}
	for _, id := range ids {
		if row, err := s.get(scope, id); err == nil {
			flags[id] = row.Flag
		}
	}
	return flags, nil
}

// OpenReports returns the flags of at most limit reports above after with an open rerun.
func (s *Reports) OpenReports(
	_ context.Context, scope authn.LabScope, after int64, limit int,
) (map[int64]rerun.Flag, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	flags := map[int64]rerun.Flag{}
	for _, id := range slices.Sorted(maps.Keys(s.rows)) {
		row := s.rows[id]
		if row.LabID == scope.LabID() && row.Flag.Open() && id > after && len(flags) < limit {
			flags[id] = row.Flag
		}
	}
	return flags, nil
}

// Locked is a report whose row is held. Its methods change a copy.
type Locked struct {
	store  *Reports
	row    Row
	before rerun.Report
}

// Report returns the report as it was when the row was taken.
func (l *Locked) Report() rerun.Report { return l.before }

// Parameters returns the enabled formats of the report's tests.
func (l *Locked) Parameters(context.Context) ([]rerun.Parameter, error) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	var found []rerun.Parameter
	for _, p := range l.store.parameters {
		if slices.Contains(l.row.Tests, p.TestID) {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b rerun.Parameter) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Index, b.Index))
	})
	return found, nil
}

// SetFlag changes the flag.
func (l *Locked) SetFlag(_ context.Context, to rerun.Flag) error {
	l.row.Flag = to
	return nil
}

// Unsign clears the signature.
func (l *Locked) Unsign(context.Context) error {
	l.row.Signed = false
	return nil
}

// Log appends an entry and returns its id.
func (l *Locked) Log(_ context.Context, e activitylog.Entry) (int64, error) {
	meta, err := json.Marshal(e.Meta)
	if err != nil {
		return 0, err
	}
	e.ReportID, e.BillID = l.row.ID, l.row.BillID
	l.row.Log = append(l.row.Log, Logged{e, meta})
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.store.ids++
	return l.store.ids, nil
}

// Send keeps a message unless one with its key waits.
func (l *Locked) Send(_ context.Context, e outbox.Event) error {
	waits := func(o outbox.Event) bool { return e.DedupeKey != "" && o.DedupeKey == e.DedupeKey }
	if !slices.ContainsFunc(l.row.Sent, waits) {
		l.row.Sent = append(l.row.Sent, e)
	}
	return nil
}

// Results returns the report's values.
func (l *Locked) Results(context.Context) ([]rerun.Result, error) {
	found := slices.Clone(l.row.Results)
	slices.SortStableFunc(found, func(a, b rerun.Result) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Index, b.Index), cmp.Compare(a.ID, b.ID))
	})
	return found, nil
}

// Replace deletes the rows of gone and adds those of confirmed.
func (l *Locked) Replace(_ context.Context, gone, confirmed []rerun.Result) error {
	l.row.Results = slices.DeleteFunc(l.row.Results, func(r rerun.Result) bool {
		return slices.ContainsFunc(gone, func(g rerun.Result) bool { return g.ID == r.ID })
	})
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	for _, r := range confirmed {
		l.store.ids++
		r.ID = l.store.ids
		l.row.Results = append(l.row.Results, r)
	}
	return nil
}

// Ledger reads what was committed since the last confirm or abort.
func (l *Locked) Ledger(context.Context) (rerun.Ledger, error) {
	var ledger rerun.Ledger
	for _, e := range l.row.Log {
		switch e.Category {
		case activitylog.RerunValuesConfirmed, activitylog.RerunCancelled:
			ledger = rerun.Ledger{}
		default:
			ledger.Note(e.Category, e.Meta)
		}
	}
	return ledger, nil
}

// Archived returns the ids of all documents of the report that the log holds.
func (l *Locked) Archived(context.Context) (map[string]bool, error) {
	archived := map[string]bool{}
	for _, e := range l.row.Log {
		switch e.Category {
		case activitylog.RerunValuesConfirmed, activitylog.RerunCancelled, activitylog.RerunFailed:
			for _, id := range rerun.ArchivedIn(e.Meta) {
				archived[id] = true
			}
		}
	}
	return archived, nil
}
