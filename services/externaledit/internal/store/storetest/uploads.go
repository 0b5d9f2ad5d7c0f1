package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

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
	must(t, s.Uploads.Forget(ctx, scope, second.ID)) // not abandoned, so Forget has no effect
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
	s.AddReport(12, session.Report{ID: 7002})
	for id, saves := range map[int64]map[string]bool{
		7001: {"mem://w1": true, "mem://w2": true, second.PDF.URL: false, "mem://other": false}, 7002: {"mem://w1": false},
	} {
		must(t, s.Editing.Lock(ctx, scope, id, func(l editing.Locked) error {
			for word, want := range saves {
				if got, err := l.Origin(ctx, word); err != nil || (got != nil) != want || (want && got.ID != opened.ID) {
					t.Errorf("session of report %d that saved %s: %+v, %v, want one %t", id, word, got, err, want)
				}
			}
			return nil
		}))
	}
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
	closes(scope, opened.ExpiresAt, true, "the report does not exist")
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
		t.Error("no one leads")
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

// retention checks Outdated and Retire with four saves of a report: the first and the third have the same files, the
// fourth is linked.
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
		want []int // indexes of saves
	}{
		{session.Retention{Newest: 4}, nil},
		{session.Retention{Newest: 2}, []int{0, 1}},
		{session.Retention{Age: 11 * time.Hour}, nil},
		{session.Retention{Age: 9 * time.Hour}, []int{0}},
		{session.Retention{Newest: 3, Age: 8 * time.Hour}, []int{0}},
		{session.Retention{Age: time.Minute}, []int{0, 1, 2}}, // the linked save is kept
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
	retire(3, false, 0) // it is linked
	retire(0, true, 0)  // the third save has the same files
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
