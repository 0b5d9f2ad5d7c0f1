package upload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

func TestASaveLinksBothFilesAndExtendsTheSession(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.clock.Advance(time.Hour)
	files, err := b.save(b.useCase(b.reports(), b.files), saying(t, "first"))
	if err != nil {
		t.Fatal(err)
	}
	if linked, said := b.linked(); linked != files || said != "first" {
		t.Errorf("linked %v %q, answered %v", linked, said, files)
	}
	s, err := b.store.Session(t.Context(), b.scope, b.session.ID)
	if err != nil || s.Files != files || s.Revision != 1 || !s.SavedAt.Equal(b.clock.Now()) ||
		!s.ExpiresAt.Equal(b.clock.Now().Add(ttl)) {
		t.Errorf("%+v %v", s, err)
	}
	if events := b.store.Events(); len(events) != 1 || events[0].Name != session.FilesUploaded ||
		events[0].Session.Files != files {
		t.Errorf("%+v", events)
	}
	b.wantNothingLeft("after a save")
}

func TestTheSameFilesAgainAreNoRevision(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.useCase(b.reports(), b.files)
	first, err := b.save(u, saying(t, "first"))
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	again, err := b.save(u, saying(t, "first"))
	if err != nil || again != first {
		t.Errorf("got %v %v, want first", again, err)
	}
	if _, err := b.save(u, saying(t, "second")); err != nil {
		t.Fatal(err)
	}
	s, err := b.store.Session(t.Context(), b.scope, b.session.ID)
	if err != nil || s.Revision != 2 || len(b.store.Events()) != 2 {
		t.Errorf("revision %d, %d events, %v: a repeated save must leave no gap and no event", s.Revision,
			len(b.store.Events()), err)
	}
	b.wantNothingLeft("after a repeated save")
}

// TestARetryWithAnotherPDFIsOneRevision repeats a save after its response was lost, with a PDF from another conversion
// of the same document.
func TestARetryWithAnotherPDFIsOneRevision(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.useCase(b.reports(), b.files)
	first, err := b.save(u, saying(t, "first"))
	if err != nil {
		t.Fatal(err)
	}
	retry := &form{parts: []upload.Part{part(document.Word, storetest.Docx(t, "first")),
		part(document.PDF, storetest.PDF("% says first\n% CreationDate another"))}}
	if again, err := b.save(u, retry); err != nil || again != first {
		t.Errorf("%v, %v, want the first pair %v", again, err, first)
	}
	s, err := b.store.Session(t.Context(), b.scope, b.session.ID)
	if err != nil || s.Revision != 1 {
		t.Errorf("revision %d, %v, want 1", s.Revision, err)
	}
	b.wantNothingLeft("after a retry")
}

func TestADocumentThatDoesNotBelongHereIsRefused(t *testing.T) {
	t.Parallel()
	tracked := storetest.Docx(t, `<w:ins w:id="1"/>`)
	ofReport := func(id int64) []byte {
		var copied bytes.Buffer
		plain := storetest.Docx(t, "new")
		if err := document.CopyFor(id, &copied, bytes.NewReader(plain), int64(len(plain))); err != nil {
			t.Fatal(err)
		}
		return copied.Bytes()
	}
	value := func(text string) []upload.Part {
		return []upload.Part{{Field: "allow_tracked_changes", Body: strings.NewReader(text)}}
	}
	for name, c := range map[string]struct {
		word          []byte
		before, after []upload.Part
		reason        string
		kind          apperr.Kind
	}{
		"of this report":                {word: ofReport(reportID)},
		"of another report":             {word: ofReport(7003), reason: "DOCUMENT_OF_ANOTHER_REPORT", kind: apperr.Conflict},
		"tracked":                       {word: tracked, reason: "TRACKED_CHANGES", kind: apperr.Conflict},
		"tracked, allowed":              {word: tracked, before: value("true")},
		"tracked, allowed at the end":   {word: tracked, after: value("true")},
		"tracked, allowed by Python":    {word: tracked, before: value("True")},
		"tracked, refused by Python":    {word: tracked, before: value("False"), reason: "TRACKED_CHANGES", kind: apperr.Conflict},
		"tracked, not allowed":          {word: tracked, before: value("false"), reason: "TRACKED_CHANGES", kind: apperr.Conflict},
		"tracked, and something unsure": {word: tracked, before: value("maybe"), reason: "INVALID_ARGUMENT", kind: apperr.Invalid},
		"another report, tracked, allowed": {word: bytes.Clone(ofReport(7003)), before: value("true"),
			reason: "DOCUMENT_OF_ANOTHER_REPORT", kind: apperr.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			u := b.useCase(b.reports(), b.files)
			if _, err := b.save(u, saying(t, "previous")); err != nil {
				t.Fatal(err)
			}
			files := []upload.Part{part(document.Word, c.word), part(document.PDF, storetest.PDF(""))}
			_, err := b.save(u, &form{parts: slices.Concat(c.before, files, c.after)})
			if c.kind == 0 && err != nil {
				t.Fatal(err)
			}
			if found, _ := apperr.From(err); c.kind != 0 && (found == nil || found.Kind != c.kind || found.Reason != c.reason) {
				t.Errorf("%v, want %s", err, c.reason)
			}
			if c.kind != 0 {
				if _, said := b.linked(); said != "previous" {
					t.Errorf("linked %q", said)
				}
			}
			b.wantNothingLeft(name)
		})
	}
}

func TestWhatCannotBeLinkedLeavesTheFormerPair(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(*fixture)
		form   func(*testing.T) *form
		want   apperr.Kind
	}{
		"signed meanwhile": {func(b *fixture) {
			b.store.AddReport(12, session.Report{ID: reportID, Signed: true, Files: report(b).Files})
		}, nil, apperr.Conflict},
		"ended":      {func(b *fixture) { end(b, session.ByAuthor) }, nil, apperr.Forbidden},
		"taken over": {func(b *fixture) { end(b, session.TakenOver) }, nil, apperr.Forbidden},
		"expired":    {func(b *fixture) { b.clock.Advance(2 * ttl) }, nil, apperr.Forbidden},
		"no PDF": {func(*fixture) {}, func(t *testing.T) *form { return &form{parts: saying(t, "x").parts[:1]} },
			apperr.Invalid},
		"the client vanishes": {func(*fixture) {}, func(t *testing.T) *form {
			return &form{parts: saying(t, "x").parts[:1], end: context.Canceled}
		}, apperr.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			u := b.useCase(b.reports(), b.files)
			if _, err := b.save(u, saying(t, "previous")); err != nil {
				t.Fatal(err)
			}
			c.before(b)
			f := saying(t, "new")
			if c.form != nil {
				f = c.form(t)
			}
			if _, err := b.save(u, f); apperr.KindOf(err) != c.want {
				t.Errorf("%v", err)
			}
			if _, said := b.linked(); said != "previous" {
				t.Errorf("linked %q", said)
			}
			b.wantNothingLeft(name)
		})
	}
}

func report(b *fixture) session.Report {
	b.t.Helper()
	r, err := b.store.Report(b.t.Context(), b.scope, reportID)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func end(b *fixture, reason session.EndReason) {
	b.t.Helper()
	err := mysql.Editing{Store: b.store.Store}.Lock(b.t.Context(), b.scope, reportID, func(l editing.Locked) error {
		s, err := l.Session(b.t.Context(), b.session.ID)
		if err != nil {
			return err
		}
		return editing.Close(b.t.Context(), l, &s, reason, b.clock.Now())
	})
	if err != nil && apperr.KindOf(err) != apperr.Forbidden {
		b.t.Fatal(err)
	}
}

func TestATokenOfAnotherSessionIsRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.useCase(b.reports(), b.files)
	for name, change := range map[string]func(*session.Grant){
		"session": func(g *session.Grant) { g.SessionID++ },
		"report":  func(g *session.Grant) { g.ReportID++ },
		"token":   func(g *session.Grant) { g.TokenID = "another" },
	} {
		grant := b.grant()
		change(&grant)
		_, err := u.Save(t.Context(), b.scope, grant, b.session.ID, saying(t, name))
		if kind := apperr.KindOf(err); kind != apperr.Forbidden && kind != apperr.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := u.Save(t.Context(), storetest.Scope(t, 13), b.grant(), b.session.ID, saying(t, "x")); !errors.Is(err,
		session.ErrNoSession) {
		t.Errorf("another laboratory: %v", err)
	}
	b.wantNothingLeft("refused tokens")
}

// TestOldSavesGoWithTheirFiles checks that saves beyond a retention of the newest two are deleted with their files.
func TestOldSavesGoWithTheirFiles(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	u := b.useCase(b.reports(), b.files)
	for _, text := range []string{"one", "two", "three", "four"} {
		if _, err := b.save(u, saying(t, text)); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(time.Minute)
	}
	for _, keep := range []session.Retention{{}, {Newest: 2}} {
		if err := b.sweeper(keep).RetireOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.sweep()
		b.wantNothingLeft("after the retention")
	}
	if n := len(b.files.Keys()); n != 4 {
		t.Errorf("%d files of two saves", n)
	}
	if _, said := b.linked(); said != "four" {
		t.Errorf("linked %q", said)
	}
}

// TestAnAuthorWhosePermissionWasWithdrawnSavesNothing checks that a save reads the list of users before it begins and
// before it is linked; it does not rely on the heartbeat.
func TestAnAuthorWhosePermissionWasWithdrawnSavesNothing(t *testing.T) {
	t.Parallel()
	b := newFixture(t, func(s *session.Session) { s.Listed = true })
	b.store.SetListed(12, b.session.Author, true)
	u := b.useCase(b.reports(), b.files)
	before, err := b.save(u, saying(t, "before"))
	if err != nil {
		t.Fatalf("a save with the permission: %v", err)
	}
	b.store.SetListed(12, b.session.Author, false)
	if _, err = b.save(u, saying(t, "after")); apperr.KindOf(err) != apperr.Forbidden {
		t.Errorf("a save without the permission: %v, want Forbidden", err)
	}
	if linked, _ := b.linked(); linked != before {
		t.Errorf("the report has %v, want %v", linked, before)
	}
	if s, err := b.store.Session(t.Context(), b.scope, b.session.ID); err != nil || s.End == session.Active {
		t.Errorf("the session is %v, %v, want it to have ended", s.End, err)
	}
}

// answers is a fake that returns whether the login of a session may edit.
type answers struct {
	may bool
	err error
}

func (a *answers) MayEdit(context.Context, *session.Session) (bool, error) { return a.may, a.err }

// TestTheLoginOfAnAuthorWhoIsNotListedDecides checks the decision by login: while it cannot be checked, the save is
// rejected and the session continues; if it has ended, the session ends. The list of users has no permissions of this
// author.
func TestTheLoginOfAnAuthorWhoIsNotListedDecides(t *testing.T) {
	t.Parallel()
	b := newFixture(t, func(s *session.Session) { s.Login = []byte("sealed") })
	login := &answers{may: true}
	u := upload.New(upload.Deps{
		Reports: b.reports(), Files: b.files, Limits: quiet{}, Logins: login, Clock: b.clock, Lifetime: lifetime,
		NewID: func() string { return fmt.Sprint("id-", b.ids.Add(1)) }, WakeRelay: func() {}, Counters: quiet{},
	})
	before, err := b.save(u, saying(t, "before"))
	if err != nil {
		t.Fatalf("a save while logged in: %v", err)
	}
	unavailable := apperr.New(apperr.Unavailable, "SESSION_STORE_UNAVAILABLE", "try again")
	for _, c := range []struct {
		login  answers
		kind   apperr.Kind
		active bool
	}{{answers{err: unavailable}, apperr.Unavailable, true}, {answers{}, apperr.Forbidden, false}} {
		*login = c.login
		if _, err = b.save(u, saying(t, "after")); apperr.KindOf(err) != c.kind {
			t.Errorf("%+v: %v, want %v", c.login, err, c.kind)
		}
		if linked, _ := b.linked(); linked != before {
			t.Errorf("%+v: the report has %v, want %v", c.login, linked, before)
		}
		if s, err := b.store.Session(t.Context(), b.scope, b.session.ID); err != nil || (s.End == session.Active) != c.active {
			t.Errorf("%+v: the session is %q, %v, want it active: %v", c.login, s.End, err, c.active)
		}
	}
}
