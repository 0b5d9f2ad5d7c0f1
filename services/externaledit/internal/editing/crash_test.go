package editing_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/clocktest"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/delivery"
	"github.com/labplatform/labplatform/services/externaledit/internal/editing"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
	"github.com/labplatform/labplatform/services/externaledit/internal/sweep"
	"github.com/labplatform/labplatform/services/externaledit/internal/upload"
	"github.com/labplatform/labplatform/services/externaledit/migrations"
)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

// TestACrashOfTheCreation crashes before each statement, and with each response lost. The repeated request must get one
// session and a copy of the document, and no copy may exist long after its link has expired.
func TestACrashOfTheCreation(t *testing.T) {
	t.Parallel()
	var db *sql.DB
	var files *storetest.Files
	clock, ids := clocktest.New(storetest.Now), 0
	open := func() string {
		var dsn string
		db, dsn = template.Open(t)
		files = storetest.NewFiles()
		files.Add("templates/t.docx", storetest.Docx(t, "Befund"))
		for _, statement := range []string{
			"INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id) VALUES (7001, 12, 9001, 501, 55)",
			"INSERT INTO report_word_template (id, lab_id, name, word_s3_filepath) VALUES (1, 12, 't', 'templates/t.docx')",
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		return dsn
	}
	create := func(db *sql.DB) (editing.Created, error) {
		store, err := mysql.New(db, delivery.Encode, clock)
		if err != nil {
			t.Fatal(err)
		}
		return editing.New(editing.Deps{
			Reports: mysql.Editing{Store: store}, Files: files, Copier: upload.Copier{Files: files}, Tokens: tokens{}, Clock: clock,
			Lifetime: lifetime, LinkFor: 15 * time.Minute, WakeRelay: func() {}, Counters: &counters{},
			NewID: func() string { ids++; return fmt.Sprint("id-", ids) },
		}).Create(t.Context(), editing.Creation{Scope: storetest.Scope(t, 12), ReportID: 7001, TemplateID: 1, Path: "templates/t.docx",
			Author: session.Author{ID: 77, Name: "Dr. Smith"}, Key: "once"})
	}
	count := func(query string) (n int) {
		if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	crashes := crashdb.Each(t, open, func(db *sql.DB) error { _, err := create(db); return err }, func(c crashdb.Crash, _ error) {
		created, err := create(db)
		if err != nil {
			t.Errorf("the process %s; the request again: %v", c, err)
			return
		}
		content := files.Content("mem://files/" + strings.TrimPrefix(created.TemplateLink, "https://link/"))
		facts, err := document.ReadWord(bytes.NewReader(content), int64(len(content)))
		if err != nil || facts.ReportID != 7001 {
			t.Errorf("the process %s: the document says %+v, %v", c, facts, err)
		}
		for query, want := range map[string]int{
			"SELECT COUNT(*) FROM external_edit_session": 1, "SELECT COUNT(*) FROM outbox_externaledit": 1,
		} {
			if got := count(query); got != want {
				t.Errorf("the process %s: %s = %d, want %d", c, query, got, want)
			}
		}
		store, err := mysql.New(db, delivery.Encode, clock)
		if err != nil {
			t.Fatal(err)
		}
		later := clocktest.New(clock.Now().Add(time.Hour))
		if err := sweep.New(sweep.Deps{Config: sweep.Config{UploadAge: 5 * time.Minute}, Store: store, Files: files, Clock: later,
			Counters: quiet{}}).RunOnce(t.Context()); err != nil {
			t.Errorf("the process %s: %v", c, err)
		}
		if left, rows := files.Keys(), count("SELECT COUNT(*) FROM external_edit_upload"); len(left) != 1 || rows != 0 {
			t.Errorf("the process %s: left behind %v and %d rows", c, left, rows)
		}
	})
	if len(crashes) < 10 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
	t.Logf("%d crashes", len(crashes))
}
