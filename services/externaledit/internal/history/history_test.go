package history_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/testkit/clocktest"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/history"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

type counters struct{ restored, expired int }

func (c *counters) Restored()               { c.restored++ }
func (c *counters) Ended(session.EndReason) { c.expired++ }

// saved returns a report with two saves in a session that is still open.
func saved(t *testing.T) (*storetest.Database, session.Session, []session.Revision) {
	t.Helper()
	store, scope := storetest.New(t, clock.Fixed(storetest.Now)), storetest.Scope(t, 12)
	store.AddReport(12, session.Report{ID: 7001})
	s := storetest.Opened()
	s.PatientID = 501
	revisions := make([]session.Revision, 2)
	err := mysql.Editing{Store: store.Store}.Lock(t.Context(), scope, 7001,
		func(l editing.Locked) error { return l.Insert(t.Context(), &s) })
	if err != nil {
		t.Fatal(err)
	}
	err = mysql.Uploads{Store: store.Store}.Lock(t.Context(), scope, 7001, func(l upload.Locked) error {
		for i, name := range []string{"one", "two"} {
			revisions[i] = session.Revision{SessionID: s.ID, Number: int64(i + 1), Word: session.Stored{URL: name + ".docx"},
				PDF: session.Stored{URL: name + ".pdf"}, UploadedAt: storetest.Now}
			s.Reserved = int64(i + 1)
			s.Link(&revisions[i], storetest.Now)
			if err := errors.Join(l.AddRevision(t.Context(), &revisions[i]), l.Update(t.Context(), &s),
				l.LinkFiles(t.Context(), s.Files)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return store, s, revisions
}

func TestAnEarlierSaveIsRestoredOnce(t *testing.T) {
	t.Parallel()
	store, s, revisions := saved(t)
	clock, counted := clocktest.New(storetest.Now), &counters{}
	u := history.New(history.Deps{Reports: mysql.History{Store: store.Store}, Clock: clock, WakeRelay: func() {}, Counters: counted})
	in := history.Restoration{Scope: storetest.Scope(t, 12), ReportID: 7001, RevisionID: revisions[0].ID,
		By: session.Author{ID: 79, Name: "Chief"}}
	if _, err := u.Restore(t.Context(), in); !apperr.Is(err, apperr.Conflict) {
		t.Errorf("while someone edits: %v", err)
	}
	clock.Advance(2 * time.Hour) // the session has expired but was not closed
	for range 2 {                // the response to the first call may be lost
		got, err := u.Restore(t.Context(), in)
		if err != nil || got.Number != 3 || got.RestoredFrom != revisions[0].ID || got.UploadedBy.ID != 79 {
			t.Errorf("%+v %v", got, err)
		}
	}
	list, current, err := u.List(t.Context(), in.Scope, 7001, session.Page{Limit: 10})
	if err != nil || len(list) != 3 || current != list[0].ID || list[0].RestoredFrom != revisions[0].ID {
		t.Errorf("%d revisions, %d, %v", len(list), current, err)
	}
	after, err := store.Session(t.Context(), in.Scope, s.ID)
	if err != nil || after.End != session.Expired || after.Revision != 3 || after.Files != revisions[0].Files() {
		t.Errorf("%+v %v", after, err)
	}
	if *counted != (counters{restored: 1, expired: 1}) || len(store.Entries()) != 1 {
		t.Errorf("%+v, %d entries", counted, len(store.Entries()))
	}
}

func TestWhatCannotBeRestored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report session.Report
		change func(*history.Restoration)
		want   apperr.Kind
	}{
		"an unknown revision": {session.Report{ID: 7001}, func(r *history.Restoration) { r.RevisionID = 999 },
			apperr.NotFound},
		"an unknown report": {session.Report{ID: 7001}, func(r *history.Restoration) { r.ReportID = 7002 },
			apperr.NotFound},
		"another laboratory's": {session.Report{ID: 7001}, func(r *history.Restoration) {
			r.Scope = storetest.Scope(t, 13)
		}, apperr.NotFound},
		"a signed report":    {session.Report{ID: 7001, Signed: true}, func(*history.Restoration) {}, apperr.Conflict},
		"a dismissed report": {session.Report{ID: 7001, Dismissed: true}, func(*history.Restoration) {}, apperr.Conflict},
	} {
		store, _, revisions := saved(t)
		store.AddReport(12, c.report)
		clock := clocktest.New(storetest.Now.Add(2 * time.Hour))
		u := history.New(history.Deps{Reports: mysql.History{Store: store.Store}, Clock: clock, WakeRelay: func() {},
			Counters: &counters{}})
		in := history.Restoration{Scope: storetest.Scope(t, 12), ReportID: 7001, RevisionID: revisions[0].ID}
		c.change(&in)
		if _, err := u.Restore(t.Context(), in); apperr.KindOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A report with two saves is given to another patient. Neither save may be restored, nor may the linked one be handed
// out as unchanged.
func TestNoSaveOfTheFormerPatientIsRestored(t *testing.T) {
	t.Parallel()
	store, _, revisions := saved(t)
	store.MoveReport(7001, 502)
	u := history.New(history.Deps{Reports: mysql.History{Store: store.Store}, Clock: clocktest.New(storetest.Now.Add(2 * time.Hour)),
		WakeRelay: func() {}, Counters: &counters{}})
	for name, r := range map[string]session.Revision{"an earlier save": revisions[0], "the linked save": revisions[1]} {
		got, err := u.Restore(t.Context(), history.Restoration{Scope: storetest.Scope(t, 12), ReportID: 7001, RevisionID: r.ID})
		if !errors.Is(err, session.ErrOtherPatient) {
			t.Errorf("%s: %+v, %v; want ErrOtherPatient", name, got, err)
		}
	}
}

// answers is a fake that returns whether the login may restore.
type answers struct {
	may bool
	err error
}

func (a answers) MayRestore(context.Context, authn.LabScope, config.Secret, session.Author) (bool, error) {
	return a.may, a.err
}

// TestARestoreAsksAgainForTheRight checks that the list of users decides if it has permissions of the user, and
// otherwise the login.
func TestARestoreAsksAgainForTheRight(t *testing.T) {
	t.Parallel()
	unavailable := apperr.New(apperr.Unavailable, "SESSION_STORE_UNAVAILABLE", "try again")
	for name, c := range map[string]struct {
		listed *bool // has permission to edit, but not to take over
		login  config.Secret
		answer answers
		admin  bool
		want   apperr.Kind // Internal means restored
	}{
		"the login may":                         {nil, "s", answers{may: true}, false, apperr.Internal},
		"the login was withdrawn":               {nil, "s", answers{}, false, apperr.Forbidden},
		"the login cannot be asked":             {nil, "s", answers{err: unavailable}, false, apperr.Unavailable},
		"a token of a user":                     {nil, "", answers{}, false, apperr.Internal},
		"the list withholds the permission":     {new(true), "s", answers{may: true}, false, apperr.Forbidden},
		"the list withholds all permissions":    {new(false), "s", answers{may: true}, false, apperr.Forbidden},
		"the list withholds it from the token":  {new(true), "", answers{}, false, apperr.Forbidden},
		"the list withholds it from the admin":  {new(true), "s", answers{may: true}, true, apperr.Internal},
		"a global administrator was signed out": {new(true), "s", answers{}, true, apperr.Forbidden},
	} {
		store, s, revisions := saved(t)
		chief := session.Author{ID: 79, Name: "Chief"}
		if c.listed != nil {
			store.SetListed(12, chief, *c.listed)
		}
		u := history.New(history.Deps{Reports: mysql.History{Store: store.Store}, Logins: c.answer, WakeRelay: func() {},
			Clock: clocktest.New(storetest.Now.Add(2 * time.Hour)), Counters: &counters{}})
		_, err := u.Restore(t.Context(), history.Restoration{Scope: storetest.Scope(t, 12), ReportID: 7001,
			RevisionID: revisions[0].ID, By: chief, Login: c.login, GlobalAdmin: c.admin})
		restored := c.want == apperr.Internal
		if (err == nil) != restored || !restored && apperr.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		after, err := store.Session(t.Context(), storetest.Scope(t, 12), s.ID)
		if err != nil || (after.Files == revisions[0].Files()) != restored {
			t.Errorf("%s: the files are %v, %v; want them restored: %v", name, after.Files, err, restored)
		}
	}
}
