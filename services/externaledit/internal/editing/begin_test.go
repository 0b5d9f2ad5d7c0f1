package editing_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

// quiet is a fake of the counters that counts nothing.
type quiet struct{}

func (quiet) Swept(string, int) {}

// TestASessionBeginsWithACopyThatNamesItsReport checks that the copy is an object of its own, and is deleted some time
// after the link to it has expired.
func TestASessionBeginsWithACopyThatNamesItsReport(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	template := storetest.Docx(t, "Befund")
	b.files.Add("templates/t.docx", template)
	in := b.creation(77)
	in.Key = "once"
	first, again := b.mustCreate(in), b.mustCreate(in) // as if the first response was lost
	if first.ID != again.ID {
		t.Errorf("sessions %d and %d", first.ID, again.ID)
	}
	for _, created := range []editing.Created{first, again} {
		key := strings.TrimPrefix(created.TemplateLink, "https://link/")
		if !strings.HasPrefix(key, "labs/12/external-edit/7001/") {
			t.Fatalf("the link is %s", created.TemplateLink)
		}
		content := b.files.Content("mem://files/" + key)
		facts, err := document.ReadWord(bytes.NewReader(content), int64(len(content)))
		if err != nil || facts.ReportID != 7001 {
			t.Errorf("the copy says %+v, %v", facts, err)
		}
	}
	if !bytes.Equal(b.files.Content("mem://files/templates/t.docx"), template) {
		t.Error("the template was changed")
	}
	sweeper := sweep.New(sweep.Deps{Config: sweep.Config{UploadAge: 5 * time.Minute}, Store: b.store, Files: b.files,
		Sessions: b.UseCase, Clock: b.clock, Counters: quiet{}})
	before := len(b.files.Keys())
	for _, c := range []struct {
		after time.Duration
		gone  int
	}{{15 * time.Minute, 0}, {6 * time.Minute, 1}} { // one file, because all ids in the test are equal
		b.clock.Advance(c.after)
		if err := sweeper.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := len(b.files.Keys()); left != before-c.gone {
			t.Errorf("after %s there are %d of %d files", c.after, left, before)
		}
	}
}

// failing is a file store in which Put fails.
type failing struct{ *storetest.Files }

var errStore = apperr.New(apperr.Unavailable, "FILE_STORE_UNAVAILABLE", "try again")

func (failing) Put(context.Context, authn.LabScope, string, string, io.Reader) (int64, error) {
	return 0, errStore
}

// TestAStoreThatFailsAfterTheSessionWasOpened checks that the session exists, and that the repeated request continues
// it.
func TestAStoreThatFailsAfterTheSessionWasOpened(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.files.Add("templates/t.docx", storetest.Docx(t, "Befund"))
	deps := editing.Deps{
		Reports: mysql.Editing{Store: b.store.Store}, Files: b.files, Tokens: tokens{}, Clock: b.clock, Lifetime: lifetime,
		NewID: func() string { return "token" }, WakeRelay: func() {}, Counters: b.counters,
		Copier: upload.Copier{Files: failing{b.files}},
	}
	if _, err := editing.New(deps).Create(t.Context(), b.creation(77)); !errors.Is(err, errStore) {
		t.Fatalf("got %v, want errStore", err)
	}
	if created := b.mustCreate(b.creation(77)); !strings.Contains(created.TemplateLink, "/external-edit/7001/") {
		t.Errorf("%+v", created)
	}
}

// TestThePagesSessionIsContinuedByItsAuthorsClient checks that this works once: a session in use belongs to the client
// of another computer.
func TestThePagesSessionIsContinuedByItsAuthorsClient(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	page := b.mustCreate(b.creation(77))
	b.clock.Advance(time.Hour)
	client := b.creation(77)
	client.Key, client.TemplateID, client.Path = "client's", 99, "templates/another.docx"
	if continued := b.mustCreate(client); continued.ID != page.ID || continued.TemplateLink != page.TemplateLink {
		t.Errorf("%+v, want the page's %+v", continued, page)
	}
	second := b.creation(77)
	second.Key = "second-client's"
	if _, err := b.Create(t.Context(), second); !apperr.Is(err, apperr.Conflict) {
		t.Errorf("a second client before the first sign of life: %v", err)
	}
	if again := b.mustCreate(client); again.ID != page.ID {
		t.Errorf("the first client's lost response repeated got session %d", again.ID)
	}
	if _, err := b.Create(t.Context(), b.creation(78)); !apperr.Is(err, apperr.Conflict) {
		t.Errorf("another user: %v", err)
	}
	grant := session.Grant{SessionID: page.ID, ReportID: 7001, TokenID: "token"}
	if _, _, err := b.Heartbeat(t.Context(), b.scope, grant, page.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(t.Context(), b.creation(77)); !apperr.Is(err, apperr.Conflict) {
		t.Errorf("the same user's other machine: %v", err)
	}
	if again := b.mustCreate(client); again.ID != page.ID {
		t.Errorf("the client's repeated request got session %d", again.ID)
	}
	if events := b.events(); len(events) != 1 {
		t.Errorf("got %v, want one", events)
	}
}

// TestARequestWithoutAKeyLeavesTheSessionUnused checks that such a request can be repeated after a lost response.
func TestARequestWithoutAKeyLeavesTheSessionUnused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	page := b.mustCreate(b.creation(77))
	client := b.creation(77)
	client.Key = "client's"
	for _, in := range []editing.Creation{b.creation(77), client, client} { // at the time of the creation
		if again := b.mustCreate(in); again.ID != page.ID {
			t.Errorf("key %q got session %d, want %d", in.Key, again.ID, page.ID)
		}
	}
	if _, err := b.Create(t.Context(), b.creation(77)); !apperr.Is(err, apperr.Conflict) {
		t.Errorf("a second client: %v", err)
	}
}

// TestASessionOfTheFormerPatientIsNotContinued: the page began a session with a saved document, then the report moved to
// another patient. Neither the author's client nor a repeated request gets the document.
func TestASessionOfTheFormerPatientIsNotContinued(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.store.AddReport(12, session.Report{ID: 7001, Files: session.Files{Word: "mem://files/" + earlierSave}})
	page, client := b.creation(77), b.creation(77)
	page.Path, page.Key, client.Key = earlierSave, "page's", "client's"
	b.mustCreate(page)
	b.store.MoveReport(7001, 502)
	for _, in := range []editing.Creation{page, client} {
		if created, err := b.Create(t.Context(), in); !errors.Is(err, session.ErrOtherPatient) {
			t.Errorf("the %s request: %+v, %v", in.Key, created, err)
		}
	}
	client.Key, client.TakeOver = "take-over", true
	b.mustCreate(client) // with the template
}

// TestTheTemplateDoesNotMatterForAReportWithASave checks that the template may have been disabled since.
func TestTheTemplateDoesNotMatterForAReportWithASave(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.store.AddReport(12, session.Report{ID: 7001, Files: session.Files{Word: "mem://files/" + earlierSave}})
	in := b.creation(77)
	in.TemplateID, in.Path = 99, earlierSave
	b.mustCreate(in)
}
