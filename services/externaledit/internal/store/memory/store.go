// Package memory is the store of external editing in the memory of one process, for tests of the use cases. It passes
// the suite of storetest as the real one does.
package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// Store holds everything. Its methods may be called from several goroutines.
type Store struct {
	mu    sync.Mutex
	state state // guarded by mu
}

var (
	_ sweep.Store     = (*Store)(nil)
	_ upload.Discards = (*Store)(nil)
)

// state is replaced as a whole by every transaction that commits.
type state struct {
	reports   map[int64]report
	templates map[int64]template
	sessions  map[int64]session.Session
	revisions map[int64]session.Revision
	uploads   map[int64]announced
	answers   map[string]answer
	listed    map[user]bool
	events    []session.Event
	log       []activitylog.Entry
	nextID    int64
}

type report struct {
	session.Report
	lab int64
}

type template struct {
	path     string
	lab      int64 // 0: the platform's
	disabled bool
}

// user is someone of the platform's list of users.
type user struct {
	lab, id  int64
	isDoctor bool
}

type announced struct {
	session.Upload
	abandoned bool
}

type answer struct {
	body string
	id   int64
}

// New returns an empty store.
func New() *Store {
	return &Store{state: state{
		reports: map[int64]report{}, templates: map[int64]template{}, sessions: map[int64]session.Session{},
		revisions: map[int64]session.Revision{}, uploads: map[int64]announced{}, answers: map[string]answer{},
		listed: map[user]bool{},
	}}
}

func (s state) clone() state {
	s.reports, s.templates, s.sessions = maps.Clone(s.reports), maps.Clone(s.templates), maps.Clone(s.sessions)
	s.revisions, s.uploads, s.answers = maps.Clone(s.revisions), maps.Clone(s.uploads), maps.Clone(s.answers)
	s.events, s.log = slices.Clip(s.events), slices.Clip(s.log)
	return s
}

// AddReport adds a report or changes it.
func (s *Store) AddReport(lab int64, r session.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.reports[r.ID] = report{r, lab}
}

// SetListed has the platform's list of users say, or not say any more, that someone may edit.
func (s *Store) SetListed(lab int64, a session.Author, listed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.listed[user{lab, a.ID, a.IsDoctor}] = listed
}

// listsUsers reports whether the list of users has any of the laboratory; doctors are in another list.
func (s *state) listsUsers(lab int64) bool {
	for u := range s.listed {
		if u.lab == lab && !u.isDoctor {
			return true
		}
	}
	return false
}

// RemoveReport deletes a report, as the platform's core may.
func (s *Store) RemoveReport(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.state.reports, id)
}

// AddTemplate adds a template; lab 0 is the platform's.
func (s *Store) AddTemplate(lab int64, t session.Template, disabled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.templates[t.ID] = template{t.Path, lab, disabled}
}

// Events returns what was emitted, in order.
func (s *Store) Events() []session.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.events)
}

// Entries returns the activity log.
func (s *Store) Entries() []activitylog.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.log)
}

// Uploads returns how many uploads are announced.
func (s *Store) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.state.uploads)
}

func (s state) report(scope authn.LabScope, id int64) (session.Report, error) {
	r, ok := s.reports[id]
	if !ok || r.lab != scope.LabID() {
		return session.Report{}, session.ErrNoReport
	}
	return r.Report, nil
}

func (s state) session(scope authn.LabScope, id int64) (session.Session, error) {
	found, ok := s.sessions[id]
	if !ok || found.LabID != scope.LabID() {
		return session.Session{}, session.ErrNoSession
	}
	return found, nil
}

func (s state) active(scope authn.LabScope, reportID int64) *session.Session {
	for _, found := range s.sessions {
		if found.LabID == scope.LabID() && found.ReportID == reportID && found.End == session.Active {
			return &found
		}
	}
	return nil
}

func (s state) ofReport(scope authn.LabScope, reportID int64) []session.Revision {
	var all []session.Revision
	for _, r := range s.revisions {
		if of, err := s.session(scope, r.SessionID); err == nil && of.ReportID == reportID {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b session.Revision) int { return cmp.Compare(b.ID, a.ID) })
	return all
}

// find returns the newest save of the report that is one of those.
func (s state) find(
	scope authn.LabScope, reportID int64, is func(session.Revision) bool,
) (session.Revision, error) {
	all := s.ofReport(scope, reportID)
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], nil
	}
	return session.Revision{}, session.ErrNoRevision
}

func (s state) revision(scope authn.LabScope, sessionID, number int64) (session.Revision, error) {
	for _, r := range s.revisions {
		if r.SessionID == sessionID && r.Number == number && s.sessions[sessionID].LabID == scope.LabID() {
			return r, nil
		}
	}
	return session.Revision{}, session.ErrNoRevision
}

// read gives f the committed state.
func read[T any](s *Store, f func(state) (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.state)
}

// Report implements history.Reports and watch.Reports.
func (s *Store) Report(_ context.Context, scope authn.LabScope, id int64) (session.Report, error) {
	return read(s, func(st state) (session.Report, error) { return st.report(scope, id) })
}

// Session implements editing.Reports and upload.Reports.
func (s *Store) Session(_ context.Context, scope authn.LabScope, id int64) (session.Session, error) {
	return read(s, func(st state) (session.Session, error) { return st.session(scope, id) })
}

func (s *Store) Active(_ context.Context, scope authn.LabScope, reportID int64) (session.Session, error) {
	return read(s, func(st state) (session.Session, error) {
		if found := st.active(scope, reportID); found != nil {
			return *found, nil
		}
		return session.Session{}, session.ErrNoActiveSession
	})
}

func (s *Store) Open(_ context.Context, scope authn.LabScope, reportIDs []int64) ([]session.Session, error) {
	return read(s, func(st state) ([]session.Session, error) {
		var open []session.Session
		for _, id := range slices.Compact(slices.Sorted(slices.Values(reportIDs))) {
			if found := st.active(scope, id); found != nil {
				open = append(open, *found)
			}
		}
		return open, nil
	})
}

func (s *Store) Revision(_ context.Context, scope authn.LabScope, sessionID, number int64) (session.Revision, error) {
	return read(s, func(st state) (session.Revision, error) { return st.revision(scope, sessionID, number) })
}

func (s *Store) Revisions(
	_ context.Context, scope authn.LabScope, reportID int64, p session.Page,
) ([]session.Revision, error) {
	return read(s, func(st state) ([]session.Revision, error) {
		all := slices.DeleteFunc(st.ofReport(scope, reportID), func(r session.Revision) bool {
			return p.Before != 0 && r.ID >= p.Before
		})
		return all[:min(len(all), p.Limit)], nil
	})
}

func (s *Store) Holding(
	_ context.Context, scope authn.LabScope, reportID int64, f session.Files,
) (session.Revision, error) {
	return read(s, func(st state) (session.Revision, error) {
		return st.find(scope, reportID, func(r session.Revision) bool { return r.Files() == f })
	})
}

// Lead implements sweep.Store: there is one process.
func (s *Store) Lead(ctx context.Context, work func(context.Context) error) error { return work(ctx) }

func (s *Store) Expired(_ context.Context, now time.Time, limit int) ([]sweep.Due, error) {
	return read(s, func(st state) ([]sweep.Due, error) {
		var due []sweep.Due
		for _, found := range st.sessions {
			if found.HasExpired(now) && len(due) < limit {
				due = append(due, sweep.Due{LabID: found.LabID, ReportID: found.ReportID})
			}
		}
		return due, nil
	})
}

func (s *Store) CloseOrphan(_ context.Context, scope authn.LabScope, reportID int64, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.state.report(scope, reportID); err == nil {
		return false, nil
	}
	found := s.state.active(scope, reportID)
	if found == nil || !found.HasExpired(now) {
		return false, nil
	}
	if err := found.Close(session.Expired, now); err != nil {
		return false, err
	}
	s.state.sessions[found.ID] = *found
	return true, nil
}

func (s *Store) Stale(_ context.Context, before time.Time, after int64, limit int) ([]session.Upload, error) {
	return read(s, func(st state) ([]session.Upload, error) {
		var stale []session.Upload
		for _, id := range slices.Sorted(maps.Keys(st.uploads)) {
			if u := st.uploads[id]; u.StartedAt.Before(before) && id > after && len(stale) < limit {
				stale = append(stale, u.Upload)
			}
		}
		return stale, nil
	})
}

// ForgetKeys implements sweep.Store; keys do not expire here.
func (s *Store) ForgetKeys(context.Context, time.Time) (int64, error) { return 0, nil }

// The roles of the store, as in store/mysql.
type (
	// Editing is the store as editing.Reports.
	Editing struct{ *Store }
	// Uploading is the store as upload.Reports.
	Uploading struct{ *Store }
	// History is the store as history.Reports.
	History struct{ *Store }
)

var (
	_ editing.Reports = (*Editing)(nil)
	_ upload.Reports  = (*Uploading)(nil)
	_ history.Reports = (*History)(nil)
)

func (s Editing) Lock(_ context.Context, scope authn.LabScope, id int64, work func(editing.Locked) error) error {
	return s.lock(scope, id, func(l *locked) error { return work(l) })
}

func (s Uploading) Lock(_ context.Context, scope authn.LabScope, id int64, work func(upload.Locked) error) error {
	return s.lock(scope, id, func(l *locked) error { return work(l) })
}

func (s History) Lock(_ context.Context, scope authn.LabScope, id int64, work func(history.Locked) error) error {
	return s.lock(scope, id, func(l *locked) error { return work(l) })
}

// Templates returns what AddTemplate added.
func (s *Store) Templates(_ context.Context, scope authn.LabScope) ([]session.Template, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []session.Template
	for _, lab := range []int64{scope.LabID(), 0} {
		for id, t := range s.state.templates {
			if !t.disabled && t.lab == lab {
				found = append(found, session.Template{ID: id, Path: t.path})
			}
		}
	}
	return found, nil
}
