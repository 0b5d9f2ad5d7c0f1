package memory

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// lock runs work on a copy of everything, which becomes the state if work succeeds.
func (s *Store) lock(scope authn.LabScope, reportID int64, work func(*locked) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.state.report(scope, reportID)
	if err != nil {
		return err
	}
	l := &locked{state: s.state.clone(), scope: scope, report: found}
	if err := work(l); err != nil {
		return err
	}
	s.state = l.state
	return nil
}

type locked struct {
	state  state
	scope  authn.LabScope
	report session.Report
}

func (l *locked) id() int64 {
	l.state.nextID++
	return l.state.nextID
}

func (l *locked) Report() session.Report { return l.report }

func (l *locked) Template(_ context.Context, id int64) (session.Template, error) {
	t, ok := l.state.templates[id]
	if !ok || t.disabled || (t.lab != 0 && t.lab != l.scope.LabID()) {
		return session.Template{}, session.ErrNoTemplate
	}
	return session.Template{ID: id, Path: t.path}, nil
}

func (l *locked) Active(context.Context) (*session.Session, error) {
	return l.state.active(l.scope, l.report.ID), nil
}

func (l *locked) Session(_ context.Context, id int64) (session.Session, error) {
	found, err := l.state.session(l.scope, id)
	if err == nil && found.ReportID != l.report.ID {
		return session.Session{}, session.ErrNoSession
	}
	return found, err
}

func (l *locked) Listed(_ context.Context, a session.Author) (bool, error) {
	return l.state.listed[user{l.scope.LabID(), a.ID, a.IsDoctor}], nil
}

func (l *locked) Withholds(_ context.Context, userID int64, permission string) (bool, error) {
	mayEdit, says := l.state.listed[user{l.scope.LabID(), userID, false}]
	if !says {
		return l.state.listsUsers(l.scope.LabID()), nil
	}
	return !mayEdit || permission != session.PermissionEdit, nil
}

func (l *locked) Insert(_ context.Context, s *session.Session) error {
	if l.state.active(l.scope, s.ReportID) != nil {
		return session.ErrSessionExists
	}
	s.ID = l.id()
	l.state.sessions[s.ID] = *s
	return nil
}

func (l *locked) Update(_ context.Context, s *session.Session) error {
	l.state.sessions[s.ID] = *s
	return nil
}

func (l *locked) Emit(_ context.Context, e session.Event) error {
	l.state.events = append(l.state.events, e)
	return nil
}

func (l *locked) Log(_ context.Context, e activitylog.Entry) error {
	l.state.log = append(l.state.log, e)
	return nil
}

func (l *locked) Once(_ context.Context, r idempotency.Request, work func() (int64, error)) (int64, bool, error) {
	if err := idempotency.CheckKey(r.Key); err != nil {
		return 0, false, err
	}
	before, ok := l.state.answers[r.Key]
	if r.Key != "" && ok {
		if before.body != string(r.Body) {
			return 0, false, idempotency.ErrKeyReused
		}
		return before.id, true, nil
	}
	id, err := work()
	if err == nil && r.Key != "" {
		l.state.answers[r.Key] = answer{string(r.Body), id}
	}
	return id, false, err
}

func (l *locked) Announce(_ context.Context, u *session.Upload) error {
	u.ID = l.id()
	l.state.uploads[u.ID] = announced{Upload: *u}
	return nil
}

func (l *locked) Take(_ context.Context, uploadID int64) (bool, error) {
	u, ok := l.state.uploads[uploadID]
	if !ok || u.abandoned {
		return false, nil
	}
	delete(l.state.uploads, uploadID)
	return true, nil
}

func (l *locked) Latest(_ context.Context, s *session.Session) (*session.Revision, error) {
	found, err := l.state.revision(l.scope, s.ID, s.Revision)
	if err != nil {
		return nil, nil //nolint:nilerr // there is none
	}
	return &found, nil
}

func (l *locked) Revision(_ context.Context, id int64) (session.Revision, error) {
	return l.state.find(l.scope, l.report.ID, func(r session.Revision) bool { return r.ID == id })
}

func (l *locked) Saved(_ context.Context, word string) (bool, error) {
	_, err := l.state.find(l.scope, l.report.ID, func(r session.Revision) bool { return r.Files().Word == word })
	return err == nil, nil
}

func (l *locked) Holding(_ context.Context, f session.Files) (session.Revision, error) {
	return l.state.find(l.scope, l.report.ID, func(r session.Revision) bool { return r.Files() == f })
}

func (l *locked) AddRevision(_ context.Context, r *session.Revision) error {
	r.ID = l.id()
	l.state.revisions[r.ID] = *r
	return nil
}

func (l *locked) LinkFiles(_ context.Context, f session.Files) error {
	changed := l.state.reports[l.report.ID]
	changed.Files = f
	l.state.reports[l.report.ID] = changed
	return nil
}

// Touch implements upload.Reports: nothing is stale here but by the test's own clock.
func (s *Store) Touch(context.Context, authn.LabScope, int64) error { return nil }

func (s *Store) Abandon(_ context.Context, scope authn.LabScope, uploadID int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.state.uploads[uploadID]
	if !ok || u.LabID != scope.LabID() {
		return false, nil
	}
	s.state = s.state.clone()
	u.abandoned = true
	s.state.uploads[uploadID] = u
	return true, nil
}

func (s *Store) Forget(_ context.Context, scope authn.LabScope, uploadID int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.state.uploads[uploadID]; u.abandoned && u.LabID == scope.LabID() {
		s.state = s.state.clone()
		delete(s.state.uploads, uploadID)
	}
	return nil
}
