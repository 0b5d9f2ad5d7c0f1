// Package storetest contains the test suite for stores of external editing, and tools for crash tests.
package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// Subject is the store under test in all its roles, with functions that change data as the platform's core does.
type Subject struct {
	Editing editing.Reports
	Uploads upload.Reports
	History history.Reports
	Sweep   sweep.Store

	AddReport func(lab int64, r session.Report)
	// RemoveReport deletes the row of a report, as the platform's core may.
	RemoveReport func(lab, id int64)
	AddTemplate  func(lab int64, t session.Template, disabled bool)
	// SetListed changes whether the platform's list of users permits the author to edit.
	SetListed func(lab int64, a session.Author, listed bool)
	// Events returns the names of the emitted events.
	Events func() []session.EventName
}

// Now is the time of all actions in tests.
var Now = time.Date(2026, 11, 22, 8, 0, 0, 123_000_000, time.UTC)

// Scope returns the scope of a laboratory.
func Scope(t testing.TB, lab int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Service}.Scope(lab)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Opened returns a new session of report 7001 of laboratory 12.
func Opened() session.Session {
	return session.Open(session.Opening{LabID: 12, ReportID: 7001, TemplateID: 1, Template: "mem://t.docx",
		TokenID: "0b9c2f0e-0000-4000-8000-000000000001", Author: session.Author{ID: 77, Name: "Dr. Smith"}},
		Now, session.Lifetime{Idle: time.Hour, Most: 24 * time.Hour})
}

// Run runs the suite. open returns, for each test, a store that contains only report 7001 of laboratory 12 and report
// 7101 of laboratory 13.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	tests := map[string]func(*testing.T, Subject){
		"a session reads back":                         sessions,
		"one session is active":                        oneActive,
		"other laboratories see nothing":               laboratories,
		"a failure changes nothing":                    rollback,
		"templates":                                    templates,
		"a report is of its bill's doctor":             doctors,
		"who may edit is in the list of users":         listed,
		"a key answers twice":                          once,
		"an upload becomes a revision or is abandoned": uploads,
		"revisions":                                    revisions,
		"the sweeper finds what is left":               sweeping,
		"a session outlives its report":                orphans,
		"old saves are retired":                        retention,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			s.AddReport(12, session.Report{ID: 7001, BillID: 9001, DoctorID: 301})
			s.AddReport(13, session.Report{ID: 7101, BillID: 9101})
			test(t, s)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func inserted(t *testing.T, s Subject) session.Session {
	t.Helper()
	opened := Opened()
	opened.Author.IsDoctor, opened.Listed, opened.Login = true, true, []byte("sealed")
	must(t, s.Editing.Lock(t.Context(), Scope(t, 12), 7001,
		func(l editing.Locked) error { return l.Insert(t.Context(), &opened) }))
	return opened
}

func sessions(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	want := inserted(t, s)
	must(t, s.Editing.Lock(ctx, scope, 7001, func(l editing.Locked) error {
		want.Files, want.Revision, want.Reserved = session.Files{Word: "mem://w", PDF: "mem://p"}, 3, 4
		want.Login = []byte("renewed")
		want.UpdatedAt, want.SavedAt, want.ExpiresAt = Now.Add(time.Minute), Now.Add(time.Minute), Now.Add(2*time.Hour)
		return l.Update(ctx, &want)
	}))
	got, err := s.Editing.Active(ctx, scope, 7001)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	must(t, want.Close(session.TakenOver, Now.Add(time.Hour)))
	want.EndedBy = "Dr. Rao"
	must(t, s.Editing.Lock(ctx, scope, 7001, func(l editing.Locked) error { return l.Update(ctx, &want) }))
	got, err = s.Editing.Session(ctx, scope, want.ID)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Editing.Active(ctx, scope, 7001); !errors.Is(err, session.ErrNoActiveSession) {
		t.Errorf("%v", err)
	}
}

func oneActive(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	first := inserted(t, s)
	err := s.Editing.Lock(ctx, scope, 7001, func(l editing.Locked) error {
		second := Opened()
		return l.Insert(ctx, &second)
	})
	if !errors.Is(err, session.ErrSessionExists) {
		t.Fatalf("a second session: %v", err)
	}
	open, err := s.Editing.Open(ctx, scope, []int64{7001, 7002, 7001})
	must(t, err)
	if len(open) != 1 || open[0].ID != first.ID {
		t.Errorf("%+v", open)
	}
	must(t, s.Editing.Lock(ctx, scope, 7001, func(l editing.Locked) error {
		active, err := l.Active(ctx)
		if err != nil || active == nil {
			t.Fatalf("%v %v", active, err)
		}
		if err := active.Close(session.ByAuthor, Now); err != nil {
			return err
		}
		return l.Update(ctx, active)
	}))
	inserted(t, s)
}

func laboratories(t *testing.T, s Subject) {
	ctx, other := t.Context(), Scope(t, 13)
	mine := inserted(t, s)
	if _, err := s.Editing.Session(ctx, other, mine.ID); !errors.Is(err, session.ErrNoSession) {
		t.Errorf("session: %v", err)
	}
	if _, err := s.Editing.Active(ctx, other, 7001); !errors.Is(err, session.ErrNoActiveSession) {
		t.Errorf("active: %v", err)
	}
	if open, err := s.Editing.Open(ctx, other, []int64{7001}); err != nil || len(open) != 0 {
		t.Errorf("open: %v %v", open, err)
	}
	if err := s.Editing.Lock(ctx, other, 7001, func(editing.Locked) error { return nil }); !errors.Is(err,
		session.ErrNoReport) {
		t.Errorf("lock: %v", err)
	}
	if _, err := s.History.Report(ctx, other, 7001); !errors.Is(err, session.ErrNoReport) {
		t.Errorf("report: %v", err)
	}
	must(t, s.Editing.Lock(ctx, other, 7101, func(l editing.Locked) error {
		if _, err := l.Session(ctx, mine.ID); !errors.Is(err, session.ErrNoSession) {
			t.Errorf("locked session: %v", err)
		}
		return nil
	}))
}

func doctors(t *testing.T, s Subject) {
	for lab, want := range map[int64]session.Report{
		12: {ID: 7001, BillID: 9001, PatientID: 501, DoctorID: 301}, 13: {ID: 7101, BillID: 9101, PatientID: 501},
	} {
		if got, err := s.Editing.Report(t.Context(), Scope(t, lab), want.ID); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if _, err := s.Editing.Report(t.Context(), Scope(t, 13), 7001); !errors.Is(err, session.ErrNoReport) {
		t.Errorf("another laboratory's: %v", err)
	}
}

func listed(t *testing.T, s Subject) {
	user, doctor := session.Author{ID: 77}, session.Author{ID: 77, IsDoctor: true}
	expect := func(lab, reportID int64, a session.Author, want bool) {
		t.Helper()
		must(t, s.Editing.Lock(t.Context(), Scope(t, lab), reportID, func(l editing.Locked) error {
			if got, err := l.Listed(t.Context(), a); err != nil || got != want {
				t.Errorf("laboratory %d, %+v: %t %v, want %t", lab, a, got, err, want)
			}
			return nil
		}))
	}
	withheld := func(lab, userID int64, permission string, want bool) {
		t.Helper()
		report := map[int64]int64{12: 7001, 13: 7101}[lab]
		must(t, s.History.Lock(t.Context(), Scope(t, lab), report, func(l history.Locked) error {
			if got, err := l.Withholds(t.Context(), userID, permission); err != nil || got != want {
				t.Errorf("laboratory %d withholds %s from %d: %t %v, want %t", lab, permission, userID, got, err, want)
			}
			return nil
		}))
	}
	withheld(12, 77, session.PermissionTakeOver, false) // the laboratory has no list of users
	for _, a := range []session.Author{user, doctor} {
		expect(12, 7001, a, false)
		s.SetListed(12, a, true)
		expect(12, 7001, a, true)
		expect(13, 7101, a, false)
		if a == user {
			expect(12, 7001, doctor, false)
			withheld(12, 77, session.PermissionEdit, false)
			withheld(12, 77, session.PermissionTakeOver, true)
			withheld(12, 78, session.PermissionEdit, true) // the laboratory has a list without this user
			withheld(13, 77, session.PermissionTakeOver, false)
		}
		s.SetListed(12, a, false)
		expect(12, 7001, a, false)
	}
}

func rollback(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	boom := errors.New("boom")
	err := s.Editing.Lock(ctx, scope, 7001, func(l editing.Locked) error {
		opened := Opened()
		must(t, l.Insert(ctx, &opened))
		must(t, l.Emit(ctx, session.Event{Name: session.Created, Session: opened}))
		must(t, l.Log(ctx, activitylog.Entry{Category: activitylog.ExternalEditTakenOver, Actor: authn.Platform,
			At: Now}))
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if _, err := s.Editing.Active(ctx, scope, 7001); !errors.Is(err, session.ErrNoActiveSession) {
		t.Errorf("%v", err)
	}
	if events := s.Events(); len(events) != 0 {
		t.Errorf("%v", events)
	}
}

func templates(t *testing.T, s Subject) {
	s.AddTemplate(12, session.Template{ID: 1, Path: "own.docx"}, false)
	s.AddTemplate(0, session.Template{ID: 2, Path: "platform.docx"}, false)
	s.AddTemplate(13, session.Template{ID: 3, Path: "other.docx"}, false)
	s.AddTemplate(12, session.Template{ID: 4, Path: "off.docx"}, true)
	must(t, s.Editing.Lock(t.Context(), Scope(t, 12), 7001, func(l editing.Locked) error {
		for id, want := range map[int64]string{1: "own.docx", 2: "platform.docx", 3: "", 4: "", 5: "", 1 << 40: ""} {
			got, err := l.Template(t.Context(), id)
			if got.Path != want || (want == "") != errors.Is(err, session.ErrNoTemplate) {
				t.Errorf("template %d: %q %v", id, got.Path, err)
			}
		}
		return nil
	}))
	for lab, want := range map[int64][]string{
		12: {"own.docx", "platform.docx"}, 13: {"other.docx", "platform.docx"}, 14: {"platform.docx"},
	} {
		found, err := s.Editing.Templates(t.Context(), Scope(t, lab))
		must(t, err)
		var paths []string
		for _, template := range found {
			paths = append(paths, template.Path)
		}
		if diff := cmp.Diff(want, paths); diff != "" {
			t.Errorf("templates of laboratory %d: %s", lab, diff)
		}
	}
}

func once(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	attempt := func(body string, work func() (int64, error)) (id int64, replayed bool, err error) {
		err = s.Editing.Lock(ctx, scope, 7001, func(l editing.Locked) (err error) {
			id, replayed, err = l.Once(ctx, idempotency.Request{Key: "k-1", Operation: "op", Body: []byte(body)}, work)
			return err
		})
		return id, replayed, err
	}
	boom := errors.New("boom")
	if _, _, err := attempt("a", func() (int64, error) { return 0, boom }); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if id, replayed, err := attempt("a", func() (int64, error) { return 5, nil }); id != 5 || replayed || err != nil {
		t.Fatalf("%d %t %v", id, replayed, err)
	}
	if id, replayed, err := attempt("a", func() (int64, error) { return 6, nil }); id != 5 || !replayed || err != nil {
		t.Fatalf("again: %d %t %v", id, replayed, err)
	}
	if _, _, err := attempt("b", func() (int64, error) { return 6, nil }); !errors.Is(err, idempotency.ErrKeyReused) {
		t.Fatalf("another request: %v", err)
	}
}
