package upload_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/clocktest"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
)

const (
	reportID = 7001
	ttl      = 8 * time.Hour
)

var lifetime = session.Lifetime{Idle: ttl, Most: 24 * time.Hour}

// fixture has report 7001 with an open session, and files in memory.
type fixture struct {
	t       *testing.T
	store   *storetest.Database
	files   *storetest.Files
	clock   *clocktest.Clock
	scope   authn.LabScope
	session session.Session
	ids     atomic.Int64
}

func newFixture(t *testing.T, changes ...func(*session.Session)) *fixture {
	t.Helper()
	c := clocktest.New(storetest.Now)
	return newFixtureOn(t, storetest.New(t, c), c, changes...)
}

// inBubble runs a test in virtual time. The test has its own connection pool, because goroutines in the bubble must not
// wait for goroutines outside.
func inBubble(t *testing.T, run func(*testing.T, *fixture)) {
	t.Helper()
	dsn := storetest.NewDSN(t)
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Pool(t, dsn)
		defer db.Close()
		c := clocktest.New(storetest.Now)
		run(t, newFixtureOn(t, storetest.With(t, db, c), c))
	})
}

func newFixtureOn(
	t *testing.T, store *storetest.Database, c *clocktest.Clock, changes ...func(*session.Session),
) *fixture {
	t.Helper()
	b := &fixture{t: t, store: store, files: storetest.NewFiles(), clock: c, scope: storetest.Scope(t, 12)}
	b.store.AddReport(12, session.Report{ID: reportID, BillID: 9001})
	b.session = storetest.Opened()
	b.session.ExpiresAt = storetest.Now.Add(ttl)
	for _, change := range changes {
		change(&b.session)
	}
	err := mysql.Editing{Store: b.store.Store}.Lock(t.Context(), b.scope, reportID,
		func(l editing.Locked) error { return l.Insert(t.Context(), &b.session) })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// quiet counts nothing and limits nothing.
type quiet struct{}

func (quiet) Uploaded(string)                     {}
func (quiet) Received(string, int64)              {}
func (quiet) Upload(context.Context, int64) error { return nil }
func (quiet) Swept(string, int)                   {}
func (quiet) Created()                            {}
func (quiet) Refused()                            {}
func (quiet) Ended(session.EndReason)             {}

// useCase returns the use case of a process that reaches the stores through reports and files.
func (b *fixture) useCase(reports upload.Reports, files upload.Files) *upload.UseCase {
	return upload.New(upload.Deps{
		Reports: reports, Files: files, Limits: quiet{}, Clock: b.clock, Lifetime: lifetime, WakeRelay: func() {}, Counters: quiet{},
		NewID: func() string { return fmt.Sprint("u", b.ids.Add(1)) },
	})
}

func (b *fixture) reports() upload.Reports { return mysql.Uploads{Store: b.store.Store} }

func (b *fixture) grant() session.Grant {
	return session.Grant{SessionID: b.session.ID, ReportID: reportID, Author: session.Author{ID: 77}, TokenID: b.session.TokenID}
}

func (b *fixture) save(u *upload.UseCase, form upload.Form) (session.Files, error) {
	saved, err := u.Save(b.t.Context(), b.scope, b.grant(), b.session.ID, form)
	return saved.Files, err
}

// sweep runs the sweeper of another process an hour later.
func (b *fixture) sweep() {
	b.t.Helper()
	b.clock.Advance(time.Hour)
	if err := b.sweeper(session.Retention{}).RunOnce(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *fixture) sweeper(keep session.Retention) *sweep.Sweeper {
	return sweep.New(sweep.Deps{
		Config: sweep.Config{UploadAge: 5 * time.Minute}, Store: b.store, Files: b.files, Clock: b.clock, Counters: quiet{},
		Sessions: editing.New(editing.Deps{Reports: mysql.Editing{Store: b.store.Store}, Clock: b.clock, Lifetime: lifetime, WakeRelay: func() {},
			Counters: quiet{}}),
		Retention: keep,
	})
}

// linked returns the report's files and the text that they contain, after checking that both belong to one save.
func (b *fixture) linked() (session.Files, string) {
	b.t.Helper()
	report, err := b.store.Report(b.t.Context(), b.scope, reportID)
	if err != nil {
		b.t.Fatal(err)
	}
	if report.Files == (session.Files{}) {
		return report.Files, ""
	}
	word, pdf := b.files.Content(report.Files.Word), b.files.Content(report.Files.PDF)
	if word == nil || pdf == nil {
		b.t.Fatalf("the linked files %v are not there", report.Files)
	}
	said := marker(string(pdf))
	if !bytes.Equal(word, storetest.Docx(b.t, said)) {
		b.t.Fatalf("the linked PDF says %q, the Word document something else", said)
	}
	return report.Files, said
}

func marker(pdf string) string {
	_, rest, _ := strings.Cut(pdf, "% says ")
	said, _, _ := strings.Cut(rest, "\n")
	return said
}

// wantNothingLeft checks that every object belongs to a revision and that no upload is announced.
func (b *fixture) wantNothingLeft(what string) {
	b.t.Helper()
	revisions, err := b.store.Revisions(b.t.Context(), b.scope, reportID, session.Page{Limit: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	var want []string
	for _, r := range revisions {
		for _, url := range []string{r.Word.URL, r.PDF.URL} {
			key, _ := b.files.Parse(url)
			want = append(want, key)
		}
	}
	slices.Sort(want)
	if got := b.files.Keys(); !slices.Equal(got, want) {
		b.t.Errorf("%s: objects %v, of revisions %v", what, got, want)
	}
	if n := b.store.Uploads(); n != 0 {
		b.t.Errorf("%s: %d uploads are still announced", what, n)
	}
}

// form is a multipart form in memory.
type form struct {
	parts []upload.Part
	end   error // error to return at the end instead of io.EOF
}

func (f *form) Next() (upload.Part, error) {
	if len(f.parts) == 0 {
		if f.end != nil {
			return upload.Part{}, f.end
		}
		return upload.Part{}, io.EOF
	}
	part := f.parts[0]
	f.parts = f.parts[1:]
	return part, nil
}

func part(kind document.Kind, content []byte) upload.Part {
	return upload.Part{Field: kind.Field, FileName: kind.FileName, ContentType: kind.ContentType,
		Body: bytes.NewReader(content)}
}

// saying returns a form with two valid files that contain text.
func saying(t testing.TB, text string) *form {
	return &form{parts: []upload.Part{
		part(document.Word, storetest.Docx(t, text)), part(document.PDF, storetest.PDF("% says "+text)),
	}}
}
