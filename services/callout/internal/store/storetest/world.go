// Package storetest sets up the use cases of the callout service over a database of the real engine.
package storetest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/clocktest"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/claim"
	"github.com/labplatform/labplatform/services/callout/internal/delivery"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/history"
	"github.com/labplatform/labplatform/services/callout/internal/reach"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/records"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
	"github.com/labplatform/labplatform/services/callout/internal/store/mysql"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
	"github.com/labplatform/labplatform/services/callout/migrations"
)

// Rows of the test database. Laboratory 12 has bill 400 of organization 45 and doctor 301, with report Potassium of
// test 66 (department 5) and report Count of test 55 (department 4). It also has bill 401 of the same patient with
// report Second of test 66. Laboratory 13 has bill 500 with report Foreign of test 66. All statuses are 0, all samples
// were collected, and there are no values. Index 2 of test 66 is normal from 3.5 to 5.1 and critical outside 2.5 to
// 6.5. Index 1 of test 55 is normal from 13 to 17 and critical outside 7 to 20. Index 3 of test 55 has no critical
// limits. Department 5 belongs to doctor 302, department 4 to lab user 78.
const (
	Bill        = 400
	SecondBill  = 401
	ForeignBill = 500

	Potassium = 7001
	Count     = 7002
	Second    = 7003
	Foreign   = 7100

	Patient        = 501
	PotassiumIndex = 2
	CountIndex     = 1
	UnlimitedIndex = 3
)

// Defaults are the settings of laboratories without their own.
var Defaults = callout.Settings{
	Pace: callout.Pace{After: 30 * time.Minute, Most: 2}, ReadBackNeeded: true, RemindAfter: 8 * time.Hour,
}

// NewClock returns a clock set to a full second.
func NewClock() *clocktest.Clock { return clocktest.New(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)) }

// Lab returns the scope of a laboratory.
func Lab(t testing.TB, id int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Service}.Scope(id)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Fixture is a test database with the service's use cases.
type Fixture struct {
	*mysql.Store
	T     *testing.T
	DB    *sql.DB
	Clock *clocktest.Clock
	Count *Counters

	List     *records.UseCase
	History  *history.UseCase
	Save     *save.UseCase
	Claim    *claim.UseCase
	Evaluate *evaluate.UseCase
	Worklist *worklist.UseCase
	Decide   *settings.UseCase
	Reaching *reach.UseCase
	Reach    *FakeReach
	Jobs     *Jobs
	Reaper   *reap.Reaper
	Sweeper  *sweep.Sweeper
}

var template = mysqltest.Template{Platform: mysql.LegacyColumns(), Schemas: migrations.Schemas()}

// NewDatabase returns a test database with the rows of World.
func NewDatabase(t testing.TB) *sql.DB {
	t.Helper()
	db, _ := OpenDatabase(t)
	return db
}

// OpenDatabase returns a test database with the rows of World, and its data source name.
func OpenDatabase(t testing.TB) (*sql.DB, string) {
	t.Helper()
	db, dsn := template.Open(t)
	for _, statement := range World() {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return db, dsn
}

// New returns the use cases over a new database.
func New(t *testing.T) *Fixture {
	t.Helper()
	return Over(t, NewDatabase(t), NewClock())
}

// Over returns the use cases over a database.
func Over(t *testing.T, db *sql.DB, c *clocktest.Clock) *Fixture {
	t.Helper()
	store, err := mysql.New(db, c, delivery.Messages{}, Defaults)
	if err != nil {
		t.Fatal(err)
	}
	n, wake := &Counters{}, func() {}
	x := &Fixture{Store: store, T: t, DB: db, Clock: c, Count: n, Jobs: &Jobs{}, Reach: &FakeReach{}}
	x.List, x.History, x.Worklist = records.New(store), history.New(store), worklist.New(store, c)
	x.Claim = claim.New(store, n)
	x.Save = save.New(save.Deps{Store: store, Clock: c, WakeRelay: wake, Counters: n, Signals: n})
	x.Evaluate = evaluate.New(evaluate.Deps{
		Store: store, Clock: c, WakeRelay: wake, Counters: n, Signals: n, Log: silent(),
	})
	x.Decide = settings.New(store, x.Evaluate, c, "callout_configure")
	x.Reaching = reach.New(reach.Deps{
		Store: store, Ledgers: store, Client: x.Reach, Evaluator: x.Evaluate, Signals: n, Counters: n, Clock: c,
	})
	x.Reaper = reap.New(reap.Deps{
		Config: reap.Config{AdoptWithin: 100_000 * time.Hour}, Store: mysql.Reaps{Store: store},
		Evaluator: x.Evaluate, Reach: x.Reaching,
		Jobs: x.Jobs, Clock: c, Log: silent(), Counters: n,
	})
	found := mysql.Sweeps{Store: store}
	always := sweep.Config{Lookback: 1000 * 24 * time.Hour, Settled: -1000 * 24 * time.Hour}
	x.Sweeper = sweep.New(always, found, found, x.Evaluate, c, n)
	return x
}

// Exec runs a statement as another program would.
func (b *Fixture) Exec(query string, args ...any) {
	b.T.Helper()
	if _, err := b.DB.ExecContext(b.T.Context(), query, args...); err != nil {
		b.T.Fatal(err)
	}
}

// SetValue replaces a value of a report and updates the report's row.
func (b *Fixture) SetValue(report int64, index int, value string) {
	b.T.Helper()
	b.Exec("INSERT INTO reportValues (labReportId_id, `index`, `order`, value, updated_at) VALUES (?, ?, ?, ?, ?)"+
		" ON DUPLICATE KEY UPDATE value = VALUES(value), updated_at = VALUES(updated_at)", report, index, index, value, b.Clock.Now())
	b.Exec("UPDATE labReportRelation SET updatedOn = ? WHERE id = ?", b.Clock.Now(), report)
}

// SetStatus sets the status of a report, as another program would.
func (b *Fixture) SetStatus(report int64, to callout.Status) {
	b.T.Helper()
	b.Exec("UPDATE labReportRelation SET criticalValues = ?, updatedOn = ? WHERE id = ?", to, b.Clock.Now(), report)
}

func (b *Fixture) Dismiss(report int64) {
	b.T.Helper()
	b.Exec("UPDATE labReportRelation SET dismissed = 1 WHERE id = ?", report)
}

// MoveToBill moves a report to another bill, as a split does.
func (b *Fixture) MoveToBill(report, bill int64) {
	b.T.Helper()
	b.Exec("UPDATE labReportRelation SET billId_id = ? WHERE id = ?", bill, report)
}

// Setting changes the settings of a laboratory.
func (b *Fixture) Setting(lab int64, own callout.Settings) {
	b.T.Helper()
	b.Exec("REPLACE INTO callout_setting (lab_id, escalate_after_minutes, escalate_most, read_back_needed, repeat_within_hours, remind_hours)"+
		" VALUES (?, ?, ?, ?, ?, ?)", lab, int(own.After.Minutes()), own.Most, own.ReadBackNeeded, int(own.RepeatWithin.Hours()),
		int(own.RemindAfter.Hours()))
}

// Sent returns the messages in the outbox.
func (b *Fixture) Sent() (events []outbox.Event) {
	b.T.Helper()
	rows, err := b.DB.QueryContext(b.T.Context(), "SELECT aggregate, kind, payload, IFNULL(dedupe_key, '') FROM outbox_callout ORDER BY id")
	if err != nil {
		b.T.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var e outbox.Event
		if err := rows.Scan(&e.Aggregate, &e.Kind, &e.Payload, &e.DedupeKey); err != nil {
			b.T.Fatal(err)
		}
		events = append(events, e)
	}
	b.Must(rows.Err())
	return events
}

// SodiumIndex is the index of the parameter that AddSodium adds.
const SodiumIndex = 4

// AddSodium adds a second parameter, with the same limits, to the test of the potassium report.
func (b *Fixture) AddSodium() {
	b.T.Helper()
	b.Exec("INSERT INTO ReportFormat (id, testId_id, `index`, `order`, parameterName) VALUES (6604, 66, 4, 4, 'Sodium')")
	b.Exec("INSERT INTO ReportFormatRange (reportFormatId_id, gender, ageFrom, lowerBound, upperBound, criticalLower, criticalUpper)" +
		" VALUES (6604, 'A', 0, 3.5, 5.1, 2.5, 6.5)")
}

// FakeReach is a fake notification service. Reason is the result of its Reach method.
type FakeReach struct{ Reason string }

func (f *FakeReach) Reach(context.Context, authn.LabScope) (string, error) { return f.Reason, nil }

// Asha is a lab user who may see all reports.
var Asha = save.Performer{
	UserID: 77,
	Actor:  authn.Actor{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"},
	Sees:   callout.Visibility{Rule: callout.Everything},
}
