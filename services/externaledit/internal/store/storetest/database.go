package storetest

import (
	"context"
	"database/sql"
	"encoding/binary"
	"sync"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/externaledit/internal/delivery"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/mysql"
	"github.com/labplatform/labplatform/services/externaledit/migrations"
)

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

// Database is a database for one test, with methods that write what the platform's core writes and that read results.
type Database struct {
	*mysql.Store

	t  testing.TB
	db *sql.DB

	mu     sync.Mutex
	events []session.Event // all encoded events, including those of transactions that did not commit
}

// New returns an empty test database.
func New(t testing.TB, c clock.Clock) *Database {
	t.Helper()
	return With(t, template.New(t), c)
}

// NewDSN returns the DSN of an empty database, for a pool that the test opens and closes itself.
func NewDSN(t testing.TB) string {
	t.Helper()
	_, dsn := template.Open(t)
	return dsn
}

// Pool opens a connection pool, which the caller closes.
func Pool(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	config, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysqldb.Connector(config)
	if err != nil {
		t.Fatal(err)
	}
	return sql.OpenDB(connector)
}

// With returns a test database over a pool of the caller.
func With(t testing.TB, db *sql.DB, c clock.Clock) *Database {
	t.Helper()
	d := &Database{t: t, db: db}
	store, err := mysql.New(db, d.encode, c)
	if err != nil {
		t.Fatal(err)
	}
	d.Store = store
	return d
}

// encode keeps the event and writes its index into the payload, so that Events finds it again.
func (d *Database) encode(e session.Event) (outbox.Event, error) {
	message, err := delivery.Encode(e)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
	message.Payload = binary.BigEndian.AppendUint64(nil, uint64(len(d.events)-1))
	return message, err
}

// Events returns the events of committed transactions, in order.
func (d *Database) Events() []session.Event {
	d.t.Helper()
	payloads := read[[]byte](d, "SELECT payload FROM outbox_externaledit ORDER BY id")
	d.mu.Lock()
	defer d.mu.Unlock()
	var events []session.Event
	for _, payload := range payloads {
		events = append(events, d.events[binary.BigEndian.Uint64(payload)])
	}
	return events
}

// Entry is a line of the activity log.
type Entry struct {
	Category activitylog.Category
	ActorID  int64
}

// Entries returns all entries of the activity log.
func (d *Database) Entries() []Entry {
	d.t.Helper()
	found, err := mysqldb.Collect(context.Background(), d.db, "SELECT category, IFNULL(labUserId, 0) FROM ActivityLog ORDER BY id", nil,
		func(row mysqldb.Row, e *Entry) error { return row.Scan(&e.Category, &e.ActorID) })
	if err != nil {
		d.t.Fatal(err)
	}
	return found
}

// Uploads returns the number of announced uploads, including copies with which sessions begin.
func (d *Database) Uploads() int {
	d.t.Helper()
	return read[int](d, "SELECT COUNT(*) FROM external_edit_upload")[0]
}

func read[T any](d *Database, query string) []T {
	d.t.Helper()
	found, err := mysqldb.Collect(context.Background(), d.db, query, nil,
		func(row mysqldb.Row, value *T) error { return row.Scan(value) })
	if err != nil {
		d.t.Fatal(err)
	}
	return found
}

func (d *Database) exec(statement string, args ...any) {
	d.t.Helper()
	if _, err := d.db.ExecContext(context.Background(), statement, args...); err != nil {
		d.t.Fatal(err)
	}
}

// AddReport inserts or replaces a report.
func (d *Database) AddReport(lab int64, r session.Report) {
	d.t.Helper()
	d.exec("REPLACE INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, isSigned, dismissed,"+
		" wordFilePath, pdfFilePath) VALUES (?, ?, ?, 501, 55, ?, ?, ?, ?)",
		r.ID, lab, r.BillID, r.Signed, r.Dismissed, r.Files.Word, r.Files.PDF)
	d.exec("REPLACE INTO billing (id, labId_id, labBillId, userDetailsId_id, docId_id) VALUES (?, ?, ?, 501, NULLIF(?, 0))",
		r.BillID, lab, r.BillID, r.DoctorID)
}

// MoveReport makes another patient the report's, as the platform's core does when tubes were exchanged.
func (d *Database) MoveReport(id, patient int64) {
	d.t.Helper()
	d.exec("UPDATE labReportRelation SET userDetailsId_id = ? WHERE id = ?", patient, id)
}

// AddPatient inserts a patient with a name; all patients have one sex and birth date.
func (d *Database) AddPatient(lab, id int64, name string) {
	d.t.Helper()
	d.exec("INSERT INTO userDetails (id, labId_id, fullName, gender, dateOfBirth) VALUES (?, ?, ?, 'F', '2026-11-20')", id, lab, name)
}

// SetPatient sets one column of all patients; nil means NULL.
func (d *Database) SetPatient(column string, value any) {
	d.t.Helper()
	d.exec("UPDATE userDetails SET "+column+" = ?", value)
}

// MergePatient gives all bills and reports of a patient to another one.
func (d *Database) MergePatient(id, into int64) {
	d.t.Helper()
	d.exec("UPDATE billing SET userDetailsId_id = ? WHERE userDetailsId_id = ?", into, id)
	d.exec("UPDATE labReportRelation SET userDetailsId_id = ? WHERE userDetailsId_id = ?", into, id)
}

// RemoveReport deletes the row of a report, as the platform's core may.
func (d *Database) RemoveReport(lab, id int64) {
	d.t.Helper()
	d.exec("DELETE FROM labReportRelation WHERE id = ? AND labId_id = ?", id, lab)
}

// AddTemplate inserts a template; lab 0 means the platform.
func (d *Database) AddTemplate(lab int64, t session.Template, disabled bool) {
	d.t.Helper()
	d.exec("INSERT INTO report_word_template (id, lab_id, name, word_s3_filepath, is_disabled) VALUES (?, NULLIF(?, 0), 't', ?, ?)",
		t.ID, lab, t.Path, disabled)
}

// SetReferring makes a doctor of the list a referring one, who sees own bills only.
func (d *Database) SetReferring(lab, doctor int64) {
	d.t.Helper()
	d.exec("REPLACE INTO doctorDetails (id, labId_id, docFullName, docType) VALUES (?, ?, 'd', 2)", doctor, lab)
}

// SetListed changes whether the platform's list of users permits the author to edit. A user without the permission
// stays in the list; a doctor without it is removed.
func (d *Database) SetListed(lab int64, a session.Author, listed bool) {
	d.t.Helper()
	permissions := `["x"]`
	if listed {
		permissions = `["x","report_edit"]`
	}
	switch {
	case !a.IsDoctor:
		d.exec("REPLACE INTO labUser (id, labId_id, username, permissions) VALUES (?, ?, 'u', ?)", a.ID, lab, permissions)
	case listed:
		d.exec("REPLACE INTO doctorDetails (id, labId_id, docFullName) VALUES (?, ?, 'd')", a.ID, lab)
	default:
		d.exec("DELETE FROM doctorDetails WHERE id = ?", a.ID)
	}
}
