// Package storetest holds the suite that every store of external editing passes, and the instruments of crash tests.
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// Subject is one store in all its roles, with what tests put into it beside the use cases.
type Subject struct {
	Editing editing.Reports
	Uploads upload.Reports
	History history.Reports
	Sweep   sweep.Store

	AddReport func(lab int64, r session.Report)
	// RemoveReport deletes the row, as the platform's core may.
	RemoveReport func(lab, id int64)
	AddTemplate  func(lab int64, t session.Template, disabled bool)
	// SetListed has the list of users say, or not say any more, that somebody may edit.
	SetListed func(lab int64, a session.Author, listed bool)
	// Events returns the names of what was emitted.
	Events func() []session.EventName
}

// Now is when everything happens.
var Now = time.Date(2026, 11, 22, 8, 0, 0, 123_000_000, time.UTC)

// Scope returns the laboratory's scope.
func Scope(t testing.TB, lab int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Service}.Scope(lab)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Opened is a session of report 7001 of laboratory 12.
func Opened() session.Session {
	return session.Open(session.Opening{LabID: 12, ReportID: 7001, TemplateID: 1, Template: "mem://t.docx",
		TokenID: "0b9c2f0e-0000-4000-8000-000000000001", Author: session.Author{ID: 77, Name: "Dr. Smith"}},
		Now, session.Lifetime{Idle: time.Hour, Most: 24 * time.Hour})
}

// Run checks the store that open makes for each test: empty, but for report 7001 of laboratory 12 and 7101 of 13.
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

// inserted opens the session of Opened.
func inserted(t *testing.T, s Subject) session.Session {
	t.Helper()
	opened := Opened()
	opened.Author.IsDoctor, opened.Listed = true, true
	must(t, s.Editing.Lock(t.Context(), Scope(t, 12), 7001,
		func(l editing.Locked) error { return l.Insert(t.Context(), &opened) }))
	return opened
}

func sessions(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	want := inserted(t, s)
	must(t, s.Editing.Lock(ctx, scope, 7001, func(l editing.Locked) error {
		want.Files, want.Revision, want.Reserved = session.Files{Word: "mem://w", PDF: "mem://p"}, 3, 4
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
		12: {ID: 7001, BillID: 9001, DoctorID: 301}, 13: {ID: 7101, BillID: 9101},
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
	for _, a := range []session.Author{user, doctor} {
		expect(12, 7001, a, false)
		s.SetListed(12, a, true)
		expect(12, 7001, a, true)
		expect(13, 7101, a, false)
		if a == user {
			expect(12, 7001, doctor, false)
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

// announced announces an upload of the session.
func announced(t *testing.T, s Subject, of session.Session, number int64) session.Upload {
	t.Helper()
	u := session.Upload{LabID: 12, SessionID: of.ID, Number: number, WordKey: "labs/12/w", PDFKey: "labs/12/p",
		StartedAt: Now}
	must(t, s.Uploads.Lock(t.Context(), Scope(t, 12), 7001,
		func(l upload.Locked) error { return l.Announce(t.Context(), &u) }))
	return u
}

func take(ctx context.Context, s Subject, scope authn.LabScope, id int64) (taken bool, err error) {
	err = s.Uploads.Lock(ctx, scope, 7001, func(l upload.Locked) (err error) {
		taken, err = l.Take(ctx, id)
		return err
	})
	return taken, err
}

func uploads(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	opened := inserted(t, s)
	first, second := announced(t, s, opened, 1), announced(t, s, opened, 2)
	if first.ID == 0 || first.ID == second.ID {
		t.Fatalf("ids %d and %d", first.ID, second.ID)
	}
	must(t, s.Uploads.Touch(ctx, scope, first.ID))
	if taken, err := take(ctx, s, scope, first.ID); !taken || err != nil {
		t.Errorf("take: %t %v", taken, err)
	}
	if found, err := s.Uploads.Abandon(ctx, scope, first.ID); found || err != nil {
		t.Errorf("abandon what was taken: %t %v", found, err)
	}
	if found, err := s.Uploads.Abandon(ctx, Scope(t, 13), second.ID); found || err != nil {
		t.Errorf("abandon another laboratory's: %t %v", found, err)
	}
	must(t, s.Uploads.Forget(ctx, scope, second.ID)) // not abandoned: nothing happens
	for range 2 {
		if found, err := s.Uploads.Abandon(ctx, scope, second.ID); !found || err != nil {
			t.Errorf("abandon: %t %v", found, err)
		}
	}
	if taken, err := take(ctx, s, scope, second.ID); taken || err != nil {
		t.Errorf("take what was abandoned: %t %v", taken, err)
	}
	must(t, s.Uploads.Forget(ctx, scope, second.ID))
	if found, err := s.Uploads.Abandon(ctx, scope, second.ID); found || err != nil {
		t.Errorf("abandon what was forgotten: %t %v", found, err)
	}
}

func revision(of session.Session, number int64, word string) session.Revision {
	return session.Revision{SessionID: of.ID, Number: number, UploadedBy: of.Author, UploadedAt: Now,
		Word: session.Stored{URL: word, SHA256: "aa", Size: 50 << 20}, PDF: session.Stored{URL: "mem://p", SHA256: "bb",
			Size: 100 << 20}}
}

func revisions(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	opened := inserted(t, s)
	first, second := revision(opened, 1, "mem://w1"), revision(opened, 2, "mem://w2")
	must(t, s.Uploads.Lock(ctx, scope, 7001, func(l upload.Locked) error {
		if latest, err := l.Latest(ctx, &opened); latest != nil || err != nil {
			t.Errorf("before the first save: %v %v", latest, err)
		}
		must(t, l.AddRevision(ctx, &first))
		second.RestoredFrom = first.ID
		must(t, l.AddRevision(ctx, &second))
		opened.Revision = 2
		latest, err := l.Latest(ctx, &opened)
		must(t, err)
		if diff := cmp.Diff(&second, latest); diff != "" {
			t.Error(diff)
		}
		must(t, l.Update(ctx, &opened))
		return l.LinkFiles(ctx, second.Files())
	}))
	for page, want := range map[session.Page][]session.Revision{
		{Limit: 5}:                    {second, first},
		{Limit: 1}:                    {second},
		{Limit: 1, Before: second.ID}: {first},
		{Limit: 5, Before: first.ID}:  nil,
		{Limit: 5, Before: 1<<62 + 5}: {second, first},
	} {
		got, err := s.History.Revisions(ctx, scope, 7001, page)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%+v: %v %s", page, err, diff)
		}
	}
	if got, err := s.History.Holding(ctx, scope, 7001, first.Files()); err != nil || got.ID != first.ID {
		t.Errorf("%+v %v", got, err)
	}
	must(t, s.History.Lock(ctx, scope, 7001, func(l history.Locked) error {
		if got, err := l.Revision(ctx, second.ID); err != nil || got.Word.URL != "mem://w2" {
			t.Errorf("%+v %v", got, err)
		}
		if _, err := l.Revision(ctx, 999); !errors.Is(err, session.ErrNoRevision) {
			t.Errorf("%v", err)
		}
		if got, err := l.Holding(ctx, second.Files()); err != nil || got.ID != second.ID {
			t.Errorf("%+v %v", got, err)
		}
		return nil
	}))
	report, err := s.History.Report(ctx, scope, 7001)
	must(t, err)
	if report.Files != second.Files() {
		t.Errorf("linked %v", report.Files)
	}
	if got, err := s.Uploads.Revision(ctx, scope, opened.ID, 1); err != nil || got.Word.URL != "mem://w1" {
		t.Errorf("%v %v", got, err)
	}
	for _, c := range []struct {
		scope  authn.LabScope
		number int64
	}{{scope, 3}, {Scope(t, 13), 1}} {
		if _, err := s.Uploads.Revision(ctx, c.scope, opened.ID, c.number); !errors.Is(err, session.ErrNoRevision) {
			t.Errorf("revision %d: %v", c.number, err)
		}
	}
	if other, err := s.History.Revisions(ctx, Scope(t, 13), 7001, session.Page{Limit: 5}); err != nil || len(other) != 0 {
		t.Errorf("another laboratory: %v %v", other, err)
	}
}

func orphans(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	opened := inserted(t, s)
	closes := func(of authn.LabScope, at time.Time, want bool, what string) {
		t.Helper()
		if closed, err := s.Sweep.CloseOrphan(ctx, of, 7001, at); err != nil || closed != want {
			t.Errorf("%s: closed %t, error %v", what, closed, err)
		}
	}
	closes(scope, opened.ExpiresAt, false, "its report is there")
	s.RemoveReport(12, 7001)
	closes(scope, opened.ExpiresAt.Add(-time.Millisecond), false, "before its end")
	closes(Scope(t, 13), opened.ExpiresAt, false, "another laboratory")
	closes(scope, opened.ExpiresAt, true, "the report is gone")
	closes(scope, opened.ExpiresAt, false, "again")
	got, err := s.Editing.Session(ctx, scope, opened.ID)
	must(t, err)
	if got.End != session.Expired || !got.EndedAt.Equal(opened.ExpiresAt) {
		t.Errorf("%+v", got)
	}
	if due, err := s.Sweep.Expired(ctx, opened.ExpiresAt, 10); err != nil || len(due) != 0 {
		t.Errorf("still due: %v %v", due, err)
	}
}

func sweeping(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	opened := inserted(t, s)
	if due, err := s.Sweep.Expired(ctx, opened.ExpiresAt.Add(-time.Millisecond), 10); err != nil || len(due) != 0 {
		t.Errorf("before its end: %v %v", due, err)
	}
	due, err := s.Sweep.Expired(ctx, opened.ExpiresAt, 10)
	must(t, err)
	if diff := cmp.Diff([]sweep.Due{{LabID: 12, ReportID: 7001}}, due); diff != "" {
		t.Error(diff)
	}
	left := announced(t, s, opened, 1)
	if stale, err := s.Sweep.Stale(ctx, Now, 0, 10); err != nil || len(stale) != 0 {
		t.Errorf("an upload under way: %v %v", stale, err)
	}
	stale, err := s.Sweep.Stale(ctx, Now.Add(time.Millisecond), 0, 10)
	must(t, err)
	if diff := cmp.Diff([]session.Upload{left}, stale); diff != "" {
		t.Error(diff)
	}
	if after, err := s.Sweep.Stale(ctx, Now.Add(time.Hour), left.ID, 10); err != nil || len(after) != 0 {
		t.Errorf("the next page: %v %v", after, err)
	}
	led := false
	must(t, s.Sweep.Lead(ctx, func(context.Context) error { led = true; return nil }))
	if !led {
		t.Error("nobody leads")
	}
	if _, err := s.Sweep.ForgetKeys(ctx, Now); err != nil {
		t.Error(err)
	}
	must(t, s.Uploads.Lock(ctx, scope, 7001, func(l upload.Locked) error {
		return l.Emit(ctx, session.Event{Name: session.FilesUploaded, Session: opened})
	}))
	if diff := cmp.Diff([]session.EventName{session.FilesUploaded}, s.Events()); diff != "" {
		t.Error(diff)
	}
}

// retention has four saves of a report: the first and the third have the same files, the fourth is linked.
func retention(t *testing.T, s Subject) {
	ctx, scope := t.Context(), Scope(t, 12)
	opened := inserted(t, s)
	saves := make([]session.Revision, 4)
	must(t, s.Uploads.Lock(ctx, scope, 7001, func(l upload.Locked) error {
		for i, word := range []string{"mem://w1", "mem://w2", "mem://w1", "mem://w4"} {
			saves[i] = revision(opened, int64(i+1), word)
			saves[i].UploadedAt = Now.Add(time.Duration(i) * time.Hour)
			must(t, l.AddRevision(ctx, &saves[i]))
		}
		return l.LinkFiles(ctx, saves[3].Files())
	}))
	at := Now.Add(10 * time.Hour)
	for _, c := range []struct {
		keep session.Retention
		want []int // of saves
	}{
		{session.Retention{Newest: 4}, nil},
		{session.Retention{Newest: 2}, []int{0, 1}},
		{session.Retention{Age: 11 * time.Hour}, nil},
		{session.Retention{Age: 9 * time.Hour}, []int{0}},
		{session.Retention{Newest: 3, Age: 8 * time.Hour}, []int{0}},
		{session.Retention{Age: time.Minute}, []int{0, 1, 2}}, // the linked one stays
	} {
		got, err := s.Sweep.Outdated(ctx, c.keep, at, 0, 10)
		must(t, err)
		var want []sweep.Outdated
		for _, i := range c.want {
			want = append(want, sweep.Outdated{LabID: 12, ReportID: 7001, Revision: saves[i]})
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v: %s", c.keep, diff)
		}
	}
	retire := func(i int, wantRetired bool, wantFiles int) {
		t.Helper()
		files := session.Upload{
			LabID:     12,
			SessionID: opened.ID,
			Number:    saves[i].Number,
			WordKey:   "w",
			PDFKey:    "p",
			StartedAt: Now,
		}
		retired, err := s.Sweep.Retire(ctx, scope, sweep.Outdated{LabID: 12, ReportID: 7001, Revision: saves[i]}, files)
		stale, listing := s.Sweep.Stale(ctx, Now.Add(time.Hour), 0, 10)
		if err != nil || listing != nil || retired != wantRetired || len(stale) != wantFiles {
			t.Errorf("save %d: retired %t, %d files to delete, %v %v", i, retired, len(stale), err, listing)
		}
	}
	retire(3, false, 0) // linked
	retire(0, true, 0)  // the third has its files
	retire(1, true, 1)
	retire(2, true, 2)
	if left, err := s.History.Revisions(
		ctx,
		scope,
		7001,
		session.Page{Limit: 10},
	); err != nil || len(left) != 1 ||
		left[0].ID != saves[3].ID {
		t.Errorf("left %+v %v", left, err)
	}
	stale, err := s.Sweep.Stale(ctx, Now.Add(time.Hour), 0, 10)
	must(t, err)
	if taken, err := take(ctx, s, scope, stale[0].ID); taken || err != nil {
		t.Errorf("files of a retired save could be linked: %t %v", taken, err)
	}
}
