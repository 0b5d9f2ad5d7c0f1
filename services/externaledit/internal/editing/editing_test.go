package editing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/testkit/clocktest"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

const (
	ttl         = 8 * time.Hour
	earlierSave = "labs/12/external-edit/7001/1/1-x/report.docx"
)

var lifetime = session.Lifetime{Idle: ttl, Most: 24 * time.Hour}

type tokens struct{}

func (tokens) Mint(s *session.Session) (string, error) {
	return fmt.Sprint(s.ID, s.ExpiresAt.Unix()), nil
}

type counters struct {
	mu    sync.Mutex
	ended []session.EndReason
}

func (*counters) Created() {}
func (*counters) Refused() {}

func (c *counters) Ended(r session.EndReason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = append(c.ended, r)
}

type fixture struct {
	*editing.UseCase
	t        *testing.T
	store    *storetest.Database
	files    *storetest.Files
	clock    *clocktest.Clock
	scope    authn.LabScope
	counters *counters
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	b := &fixture{t: t, clock: clocktest.New(storetest.Now), scope: storetest.Scope(t, 12), counters: &counters{}}
	b.store = storetest.New(t, b.clock)
	b.store.AddReport(12, session.Report{ID: 7001})
	b.store.AddTemplate(12, session.Template{ID: 1, Path: "templates/t.docx"}, false)
	b.store.AddTemplate(0, session.Template{ID: 3, Path: "templates/lost.docx"}, false)
	b.store.AddTemplate(12, session.Template{ID: 2, Path: "labs/13/foreign.docx"}, false)
	files := storetest.NewFiles()
	for _, key := range []string{"templates/t.docx", "labs/13/foreign.docx", earlierSave} {
		files.Add(key, []byte("PK"))
	}
	b.UseCase = editing.New(editing.Deps{
		Reports: mysql.Editing{Store: b.store.Store}, Files: files, Tokens: tokens{}, Clock: b.clock, Lifetime: lifetime,
		NewID: func() string { return "token" }, WakeRelay: func() {}, Counters: b.counters,
		Copier: upload.Copier{Files: files}, LinkFor: 15 * time.Minute,
	})
	b.files = files
	return b
}

func (b *fixture) creation(userID int64) editing.Creation {
	return editing.Creation{Scope: b.scope, ReportID: 7001, TemplateID: 1, Path: "mem://files/templates/t.docx",
		Author: session.Author{ID: userID, Name: fmt.Sprint("user ", userID)}}
}

func (b *fixture) mustCreate(in editing.Creation) editing.Created {
	b.t.Helper()
	created, err := b.Create(b.t.Context(), in)
	if err != nil {
		b.t.Fatal(err)
	}
	return created
}

func (b *fixture) events() []string {
	var names []string
	for _, e := range b.store.Events() {
		names = append(names, strings.TrimSpace(string(e.Name)+" "+string(e.Session.End)))
	}
	return names
}

func TestASessionFromCreationToEnd(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	created := b.mustCreate(b.creation(77))
	if created.TemplateLink != "https://link/templates/t.docx" || created.Token == "" {
		t.Errorf("%+v", created)
	}
	s, err := b.Show(t.Context(), b.scope, 7001)
	if err != nil || s.ID != created.ID || s.Files != (session.Files{Word: "mem://files/templates/t.docx"}) ||
		!s.ExpiresAt.Equal(storetest.Now.Add(ttl)) {
		t.Errorf("%+v %v", s, err)
	}
	if err := b.End(t.Context(), b.scope, created.ID, session.Author{ID: 78}); !errors.Is(err, session.ErrNotAuthor) {
		t.Errorf("someone else: %v", err)
	}
	for range 2 { // the response to the first call may be lost
		if err := b.End(t.Context(), b.scope, created.ID, session.Author{ID: 77}); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Show(t.Context(), b.scope, 7001); !errors.Is(err, session.ErrNoActiveSession) {
		t.Errorf("got %v, want session.ErrNoActiveSession", err)
	}
	if diff := cmp.Diff([]string{"session_created", "session_ended author"}, b.events()); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(b.counters.ended, []session.EndReason{session.ByAuthor}) {
		t.Errorf("%v", b.counters.ended)
	}
}

func TestOfManyCreatorsOneWins(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var won, refused sync.Map
	var all sync.WaitGroup
	for user := range int64(20) {
		all.Go(func() {
			if _, err := b.Create(t.Context(), b.creation(user+1)); err == nil {
				won.Store(user, true)
			} else if apperr.Is(err, apperr.Conflict) {
				refused.Store(user, err)
			}
		})
	}
	all.Wait()
	size := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	if size(&won) != 1 || size(&refused) != 19 {
		t.Errorf("%d won, %d were refused", size(&won), size(&refused))
	}
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	first := b.mustCreate(b.creation(77))
	other := b.creation(78)
	_, err := b.Create(t.Context(), other)
	if e, _ := apperr.From(err); e == nil || e.Kind != apperr.Conflict ||
		!strings.Contains(e.Details, "by user 77 since 22 November 2026 13:30 Asia/Kolkata") {
		t.Errorf("%v", err)
	}
	other.TakeOver = true
	if _, err := b.Create(t.Context(), other); !apperr.Is(err, apperr.Forbidden) {
		t.Errorf("without the right: %v", err)
	}
	other.MayTakeOver = true
	second := b.mustCreate(other)
	if second.ID == first.ID {
		t.Error("the session is the same")
	}
	_, _, err = b.Heartbeat(t.Context(), b.scope, session.Grant{SessionID: first.ID, ReportID: 7001, TokenID: "token"},
		first.ID)
	if e, _ := apperr.From(err); e == nil || e.Kind != apperr.Forbidden ||
		!strings.Contains(e.Details, "taken over by user 78") {
		t.Errorf("the previous holder hears %v", err)
	}
	want := []string{"session_created", "session_ended taken_over", "session_created", "authorship_changed"}
	if diff := cmp.Diff(want, b.events()); diff != "" {
		t.Error(diff)
	}
	if events := b.store.Events(); events[3].Previous == nil || events[3].Previous.ID != 77 ||
		len(b.store.Entries()) != 1 {
		t.Errorf("%+v, %d entries", events[3], len(b.store.Entries()))
	}
	own := b.creation(78)
	own.TakeOver = true
	if again := b.mustCreate(own); again.ID == second.ID {
		t.Error("one's own session was not replaced")
	}
	want = append(want, "session_ended taken_over", "session_created") // the author is the same
	if diff := cmp.Diff(want, b.events()); diff != "" || len(b.store.Entries()) != 1 {
		t.Errorf("after one's own machine died: %s, %d entries", diff, len(b.store.Entries()))
	}
}

func TestAnAdministratorEndsWhoeversSession(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	created := b.mustCreate(b.creation(77))
	in := editing.Termination{Scope: b.scope, ID: created.ID, By: session.Author{ID: 90, Name: "Admin"}}
	other := in
	other.Scope = storetest.Scope(t, 13)
	if err := b.Terminate(t.Context(), other); !errors.Is(err, session.ErrNoSession) {
		t.Errorf("of another laboratory: %v", err)
	}
	for range 2 { // the response to the first call may be lost
		if err := b.Terminate(t.Context(), in); err != nil {
			t.Error(err)
		}
	}
	_, _, err := b.Heartbeat(t.Context(), b.scope, session.Grant{SessionID: created.ID, ReportID: 7001, TokenID: "token"},
		created.ID)
	if e, _ := apperr.From(err); e == nil || e.Kind != apperr.Forbidden ||
		!strings.Contains(e.Details, "ended by an administrator") {
		t.Errorf("the previous holder hears %v", err)
	}
	if diff := cmp.Diff([]string{"session_created", "session_ended admin"}, b.events()); diff != "" {
		t.Error(diff)
	}
	log := b.store.Entries()
	if len(log) != 1 || log[0].Category != activitylog.ExternalEditEnded || log[0].ActorID != 90 {
		t.Errorf("activity log %+v", log)
	}
	if !slices.Equal(b.counters.ended, []session.EndReason{session.ByAdmin}) {
		t.Errorf("%v", b.counters.ended)
	}
	b.mustCreate(b.creation(78))
}

func TestAnExpiredSessionThatAnAdministratorEndsHasExpired(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	created := b.mustCreate(b.creation(77))
	b.clock.Advance(ttl)
	in := editing.Termination{Scope: b.scope, ID: created.ID, By: session.Author{ID: 90, Name: "Admin"}}
	if err := b.Terminate(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"session_created", "session_ended expired"}, b.events()); diff != "" {
		t.Error(diff)
	}
	if log := b.store.Entries(); len(log) != 0 {
		t.Errorf("activity log %+v", log)
	}
}

func TestTheTimeCountsFromTheLastSignOfLife(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	created := b.mustCreate(b.creation(77))
	grant := session.Grant{SessionID: created.ID, ReportID: 7001, TokenID: "token"}
	b.clock.Advance(ttl - time.Minute)
	beaten, token, err := b.Heartbeat(t.Context(), b.scope, grant, created.ID)
	if err != nil || !beaten.ExpiresAt.Equal(b.clock.Now().Add(ttl)) || token == created.Token {
		t.Fatalf("expiry %v, error %v; want %v", beaten.ExpiresAt, err, b.clock.Now().Add(ttl))
	}
	b.clock.Advance(ttl - time.Millisecond)
	if _, err := b.Show(t.Context(), b.scope, 7001); err != nil {
		t.Errorf("before its end: %v", err)
	}
	b.clock.Advance(time.Millisecond)
	if held, err := b.Held(t.Context(), b.scope, []int64{7001}); err != nil || len(held) != 0 {
		t.Errorf("got %v %v, want 0", held, err)
	}
	if _, _, err := b.Heartbeat(t.Context(), b.scope, grant, created.ID); !apperr.Is(err, apperr.Forbidden) {
		t.Errorf("a sign of life too late: %v", err)
	}
	b.mustCreate(b.creation(78)) // without waiting for the sweeper
	want := []string{"session_created", "session_ended expired", "session_created"}
	if diff := cmp.Diff(want, b.events()); diff != "" {
		t.Error(diff)
	}
}

// TestASessionEndsWithThePermissionOfItsAuthor checks that a session ends when the list of users no longer permits its
// author to edit, and that the list does not decide about an author whom it did not permit when the session began.
func TestASessionEndsWithThePermissionOfItsAuthor(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		b := newFixture(t)
		author := session.Author{ID: 77}
		b.store.SetListed(12, author, known)
		created := b.mustCreate(b.creation(77))
		grant := session.Grant{SessionID: created.ID, ReportID: 7001, TokenID: "token"}
		if _, _, err := b.Heartbeat(t.Context(), b.scope, grant, created.ID); err != nil {
			t.Fatal(err)
		}
		b.store.SetListed(12, author, false)
		_, _, err := b.Heartbeat(t.Context(), b.scope, grant, created.ID)
		if ended := apperr.Is(err, apperr.Forbidden); ended != known {
			t.Errorf("known %t: %v", known, err)
		}
		if last := b.events()[len(b.events())-1]; known && last != "session_ended admin" {
			t.Errorf("the last event is %s", last)
		}
	}
}

func TestASessionKeepsTheLaterLoginOfItsAuthor(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	in := b.creation(77)
	in.Login = []byte("first")
	created := b.mustCreate(in)
	opened, err := b.Show(t.Context(), b.scope, 7001)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Renew(t.Context(), b.scope, &opened, []byte("second")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Show(t.Context(), b.scope, 7001); err != nil || string(got.Login) != "second" || got.ID != created.ID {
		t.Errorf("session %d keeps %q, %v; want the later login", got.ID, got.Login, err)
	}
	taken := b.creation(78)
	taken.TakeOver, taken.MayTakeOver, taken.Login = true, true, []byte("other")
	b.mustCreate(taken)
	if err := b.Renew(t.Context(), b.scope, &opened, []byte("third")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Show(t.Context(), b.scope, 7001); err != nil || string(got.Login) != "other" {
		t.Errorf("after another took over the session keeps %q, %v; want that person's login", got.Login, err)
	}
}

func TestWhatMayNotBeOpened(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report session.Report
		change func(*editing.Creation)
		want   apperr.Kind
	}{
		"an unknown report":   {session.Report{ID: 7001}, func(c *editing.Creation) { c.ReportID = 7002 }, apperr.NotFound},
		"a signed report":     {session.Report{ID: 7001, Signed: true}, func(*editing.Creation) {}, apperr.Forbidden},
		"a dismissed report":  {session.Report{ID: 7001, Dismissed: true}, func(*editing.Creation) {}, apperr.Forbidden},
		"an unknown template": {session.Report{ID: 7001}, func(c *editing.Creation) { c.TemplateID = 9 }, apperr.Invalid},
		"another file": {session.Report{ID: 7001}, func(c *editing.Creation) { c.Path = "templates/other.docx" },
			apperr.Invalid},
		"another laboratory's": {session.Report{ID: 7001}, func(c *editing.Creation) { c.Path = "labs/13/x.docx" },
			apperr.Invalid},
		"a template in another laboratory's folder": {session.Report{ID: 7001}, func(c *editing.Creation) {
			c.TemplateID, c.Path = 2, "labs/13/foreign.docx"
		}, apperr.Invalid},
		"a template without its file": {session.Report{ID: 7001}, func(c *editing.Creation) {
			c.TemplateID, c.Path = 3, "templates/lost.docx"
		}, apperr.Invalid},
		"a document without its file": {
			session.Report{ID: 7001, Files: session.Files{Word: "labs/12/external-edit/7001/1/2-x/report.docx"}},
			func(c *editing.Creation) { c.Path = "labs/12/external-edit/7001/1/2-x/report.docx" }, apperr.Invalid,
		},
		"a document of another report": {session.Report{ID: 7001}, func(c *editing.Creation) { c.Path = earlierSave },
			apperr.Invalid},
		"the report's own PDF": {session.Report{ID: 7001, Files: session.Files{PDF: earlierSave}},
			func(c *editing.Creation) { c.Path = earlierSave }, apperr.Invalid},
		"no path": {session.Report{ID: 7001}, func(c *editing.Creation) { c.Path = "a/../../b" }, apperr.Invalid},
	} {
		b := newFixture(t)
		b.store.AddReport(12, c.report)
		in := b.creation(77)
		c.change(&in)
		if _, err := b.Create(t.Context(), in); apperr.KindOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if len(b.store.Events()) != 0 {
			t.Errorf("%s: got %v, want 0 elements", name, b.events())
		}
	}
	b := newFixture(t)
	b.store.AddReport(12, session.Report{ID: 7001, Files: session.Files{Word: earlierSave}})
	own := b.creation(77)
	own.Path = earlierSave
	if got := b.mustCreate(own); got.TemplateLink != "https://link/"+own.Path {
		t.Errorf("%+v", got)
	}
}

func TestAKeyMakesACreationRepeatable(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	in := b.creation(77)
	in.Key = "k"
	first, again := b.mustCreate(in), b.mustCreate(in)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("repeated creation (-first +again):\n%s", diff)
	}
	in.TemplateID = 2
	if _, err := b.Create(context.Background(), in); !errors.Is(err, idempotency.ErrKeyReused) {
		t.Errorf("got %v, want idempotency.ErrKeyReused", err)
	}
}
