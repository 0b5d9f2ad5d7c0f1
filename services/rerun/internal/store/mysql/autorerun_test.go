package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// records is a fake with the records of a test.
type records []rerun.Record

func (r records) OfReports(context.Context, authn.LabScope, []int64) ([]rerun.Record, error) {
	return r, nil
}

type counts struct{}

func (counts) Evaluated(bool) {}

type fixture struct {
	t       *testing.T
	db      *sql.DB
	store   *mysql.Store
	records records
	woken   int
	verdict autorerun.Verdict // result of the last evaluation
}

func setup(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, db: storetest.Database(t)}
	var err error
	if f.store, err = mysql.New(f.db, clock.Fixed(now), delivery.Messages{}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) evaluate(reportID int64, readings ...autorerun.Reading) ([]int, error) {
	f.t.Helper()
	u := autorerun.New(autorerun.Deps{
		Subjects: f.store, Records: f.records, Orders: delivery.Orders{BaseURL: "http://gateway:8091/", Outbox: f.store},
		WakeRelay: func() { f.woken++ }, Log: slog.New(slog.DiscardHandler), Counters: counts{},
	})
	v, err := u.Evaluate(f.t.Context(), storetest.Scope(f.t, 12), reportID, readings)
	f.verdict = v
	return v.Qualifying, err
}

// allow configures a parameter with one range, for women: normal 12–16, critical 7–20.
func (f *fixture) allow(format int, meta string) {
	f.t.Helper()
	storetest.Exec(f.t, f.db,
		fmt.Sprintf("UPDATE ReportFormat SET meta = '%s' WHERE id = %d", meta, format),
		fmt.Sprintf("INSERT INTO ReportFormatRange (reportFormatId_id, gender, ageFrom, ageFromUnit, ageTo, ageToUnit,"+
			" lowerBound, upperBound, criticalLower, criticalUpper)"+
			" VALUES (%d, 'F', 18, 'Y', NULL, 'Y', 12, 16, 7, 20)", format))
}

func (f *fixture) orders() int {
	f.t.Helper()
	var n int
	if err := f.db.QueryRowContext(f.t.Context(), "SELECT COUNT(*) FROM outbox_rerun").Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

func TestTheConfiguredConditionDecides(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.allow(1, "{}")
	const abnormal = `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`
	const critical = `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"Critical"}`
	const custom = `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"custom","custom":{"low":5,"high":"1e1"}}`
	for name, c := range map[string]struct {
		meta    string
		value   string
		qualify bool
	}{
		"abnormal, low":                  {abnormal, "11.9", true},
		"abnormal, on the bound":         {abnormal, "12.0", false},
		"abnormal, high with a flag":     {abnormal, "16.1 H", true},
		"abnormal, below detection":      {abnormal, "<3", true},
		"abnormal, undecided":            {abnormal, ">10", false},
		"abnormal, masked":               {abnormal, "****", false},
		"abnormal, no result":            {abnormal, "", false},
		"critical, only abnormal":        {critical, "11", false},
		"critical":                       {critical, "6.9", true},
		"critical, on the bound":         {critical, "20", false},
		"critical, undecided":            {critical, "<8", false},
		"custom, inside though abnormal": {custom, "5", false},
		"custom, outside":                {custom, "10.01", true},
		"custom, without limits": {`{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"custom"}`, "1",
			false},
		"custom, limit that is no number": {`{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"custom",` +
			`"custom":{"low":"x"}}`, "1", false},
		"custom, absurd limit": {`{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"custom",` +
			`"custom":{"low":1e999999999}}`, "1", false},
		"not allowed": {`{"auto_rerun_allowed":false,"auto_rerun_parameter_condition":"abnormal"}`, "1",
			false},
		"unknown condition":     {`{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"odd"}`, "1", false},
		"no condition":          {`{"auto_rerun_allowed":true}`, "1", false},
		"meta of another shape": {`{"auto_rerun_allowed":"yes"}`, "1", false},
		"limits of another shape, custom": {`{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"custom","custom":[]}`, "1",
			false},
		"limits of another shape, critical": {`{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"critical","custom":""}`,
			"6.9", true},
	} {
		if name == "custom, absurd limit" && !mysqltest.IsMariaDB(t, f.db) {
			continue // MySQL rejects the number
		}
		t.Run(name, func(t *testing.T) {
			f.t, f.woken = t, 0
			storetest.Exec(t, f.db, "DELETE FROM outbox_rerun", "UPDATE ReportFormat SET meta = '"+c.meta+"' WHERE id = 1")
			got, err := f.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: c.value},
				autorerun.Reading{Index: 3, Value: "0"})
			if err != nil {
				t.Fatal(err)
			}
			if (len(got) == 1) != c.qualify || (f.orders() == 1) != c.qualify || (f.woken == 1) != c.qualify {
				t.Fatalf("qualifying %v, %d orders, woken %d", got, f.orders(), f.woken)
			}
		})
	}
}

func TestProfileChildrenCountAndDisabledFormatsDoNot(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const abnormal = `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`
	for _, format := range []int{1, 5, 8, 9} {
		f.allow(format, abnormal)
	}
	readings := []autorerun.Reading{{Index: 9, Value: "1"}, {Index: 8, Value: "1"}, {Index: 5, Value: "1"},
		{Index: 1, Value: "1"}, {Index: 1, Value: "13"}, {Index: 77, Value: "1"}}
	got, err := f.evaluate(storetest.Report, readings...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 8}, got); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if got, err = f.evaluate(storetest.OtherReport, readings...); err != nil || !cmp.Equal(got, []int{1}) {
		t.Fatalf("a report that is no profile: %v, error %v", got, err)
	}
	storetest.Exec(t, f.db, "INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, profileParentId) VALUES (903, 401, 12, 303, 902)")
	if got, err = f.evaluate(storetest.Report, readings...); err != nil || !cmp.Equal(got, []int{1, 8, 9}) {
		t.Fatalf("with a profile within the profile: %v, error %v", got, err)
	}
}

func TestTheAgeIsThatOfTheCollectionDayInTheLaboratory(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	reading := autorerun.Reading{Index: 1, Value: "1"}
	// Collected at 20:00 UTC on the 20th, which is the 21st in Kolkata and the patient's 18th birthday, from which the
	// range applies.
	storetest.Exec(t, f.db, "UPDATE userDetails SET dateOfBirth = '2008-11-21' WHERE id = 501")
	if got, err := f.evaluate(storetest.Report, reading); err != nil || len(got) != 1 {
		t.Fatalf("on the birthday: %v, error %v", got, err)
	}
	storetest.Exec(t, f.db, "UPDATE userDetails SET dateOfBirth = '2008-11-22' WHERE id = 501")
	if got, err := f.evaluate(storetest.Report, reading); err != nil || len(got) != 0 {
		t.Fatalf("the day before: %v, error %v", got, err)
	}
	storetest.Exec(t, f.db, "UPDATE userDetails SET dateOfBirth = NULL, age = '36 Y' WHERE id = 501")
	if got, err := f.evaluate(storetest.Report, reading); err != nil || len(got) != 1 {
		t.Fatalf("by the recorded age: %v, error %v", got, err)
	}
}

// TestAHalfBirthDateIsUnknown uses a date of which only the year is known. The driver would return the last November of
// the year before, with which the range for adults would apply.
func TestAHalfBirthDateIsUnknown(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.db.SetMaxOpenConns(1) // so that SET SESSION applies to all statements
	f.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	storetest.Exec(t, f.db, "SET SESSION sql_mode = ''", "UPDATE userDetails SET dateOfBirth = '2008-00-00', age = '' WHERE id = 501")
	f.db.SetMaxOpenConns(0)
	got, err := f.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: "1"})
	if err != nil || len(got) != 0 || !cmp.Equal(f.verdict.Undecided, []int{1}) {
		t.Errorf("%+v, error %v; want index 1 undecided, as the patient may be 17", f.verdict, err)
	}
}

func TestTextsAndTitresAreComparedAsConfigured(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const abnormal = `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`
	storetest.Exec(t, f.db,
		"UPDATE ReportFormat SET valueType = 'text', meta = '"+abnormal+"' WHERE id = 1",
		`INSERT INTO ReportFormatRange (reportFormatId_id, normalTexts) VALUES (1, '["Negative"]')`,
		"UPDATE ReportFormat SET valueType = 'titer', meta = '"+abnormal+"' WHERE id = 3",
		"INSERT INTO ReportFormatRange (reportFormatId_id, upperBound) VALUES (3, 80)")
	got, err := f.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: "positive"},
		autorerun.Reading{Index: 3, Value: "1:160"})
	if err != nil || !cmp.Equal(got, []int{1, 3}) {
		t.Fatalf("%v, error %v", got, err)
	}
	f.records = records{}
	got, err = f.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: "NEGATIVE"},
		autorerun.Reading{Index: 3, Value: "160"})
	if err != nil || len(got) != 0 {
		t.Fatalf("%v, error %v", got, err)
	}
}

func TestAnExistingAutomaticRecordEndsTheEvaluation(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	f.records = records{{Type: rerun.Manual}, {Type: rerun.Auto}}
	reading := autorerun.Reading{Index: 1, Value: "1"}
	if got, err := f.evaluate(storetest.Report, reading); err != nil || len(got) != 1 || f.orders() != 1 {
		t.Fatalf("what a closed rerun left counts: %v, %d orders, error %v", got, f.orders(), err)
	}
	storetest.Exec(t, f.db, "DELETE FROM outbox_rerun",
		"UPDATE labReportRelation SET sampleRedrawFlag = 4 WHERE id = 7001")
	if got, err := f.evaluate(storetest.Report, reading); err != nil || len(got) != 0 || f.orders() != 0 {
		t.Fatalf("%v, %d orders, error %v", got, f.orders(), err)
	}
}

func TestWhatWasNotJudgedIsNamed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	for value, undecided := range map[string]bool{"13": false, "1": false, "5,1": true, "low!": true, "": true, "5.1 g/dL": true} {
		_, err := f.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: value}, autorerun.Reading{Index: 3, Value: "x"},
			autorerun.Reading{Index: 5, Value: "1"}, autorerun.Reading{Index: 99, Value: "3"})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(f.verdict.Undecided) == 1 && f.verdict.Undecided[0] == 1; got != undecided {
			t.Errorf("%q: undecided %v, want index 1: %v", value, f.verdict.Undecided, undecided)
		}
		// Index 3 allows no automatic rerun, index 5 is disabled, and index 99 does not exist.
		if !cmp.Equal(f.verdict.Unknown, []int{5, 99}) {
			t.Errorf("%q: unknown %v, want 5 and 99", value, f.verdict.Unknown)
		}
	}
}

// TestAValueMayNameItsUnit checks that a value with the parameter's unit is judged like one without it. The callout
// service announces such a value as critical, so it must also be measured again.
func TestAValueMayNameItsUnit(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"critical"}`)
	storetest.Exec(t, f.db, "UPDATE ReportFormat SET unit = 'mmol/L' WHERE id = 1")
	for value, want := range map[string]autorerun.Verdict{
		"6.9 mmol/L": {Qualifying: []int{1}}, "6.9MMOL/L H": {Qualifying: []int{1}}, "13 mmol/L": {}, "6.9 mg/dL": {Undecided: []int{1}},
	} {
		_, err := f.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: value})
		if diff := cmp.Diff(want, f.verdict, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", value, err, diff)
		}
	}
}

func TestADismissedReportIsNotEvaluated(t *testing.T) {
	t.Parallel()
	f := setup(t)
	storetest.Exec(t, f.db, "UPDATE labReportRelation SET dismissed = 1 WHERE id = 7001")
	if _, err := f.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: "1"}); !errors.Is(err, rerun.ErrDismissed) {
		t.Fatalf("error = %v, want %v", err, rerun.ErrDismissed)
	}
}

func TestReportsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, id := range []int64{storetest.ForeignReport, 99} {
		if _, err := f.evaluate(id, autorerun.Reading{Index: 9, Value: "1"}); apperr.KindOf(err) != apperr.NotFound {
			t.Errorf("report %d: %v", id, err)
		}
	}
}

func TestTheOrderPostsTheDocumentedBodyOnce(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	f.allow(3, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	for range 2 { // the second order comes while the first waits
		if _, err := f.evaluate(storetest.Report, autorerun.Reading{Index: 3, Value: "1"},
			autorerun.Reading{Index: 1, Value: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	var payload []byte
	if err := f.db.QueryRowContext(t.Context(), "SELECT payload FROM outbox_rerun").Scan(&payload); err != nil ||
		f.orders() != 1 {
		t.Fatalf("%d orders, error %v", f.orders(), err)
	}
	var in taskqueuev1.EnqueueRequest
	if err := proto.Unmarshal(payload, &in); err != nil {
		t.Fatal(err)
	}
	task := in.GetTasks()[0]
	const data = `{"url":"http://gateway:8091/api-v3/sample-rerun/7001/request",` +
		`"args":{"type":"auto","rerun_number":"1","requested_parameters":"[1, 3]","is_active":true,"lab_id":12},"isBody":1,` +
		`"timeout":30}`
	if in.GetLabId() != 12 || task.GetTask() != 4 || task.GetTaskType() != 2 || string(task.GetData().GetJson()) != data {
		t.Fatalf("lab %d, task %d/%d\n%s\nwant\n%s", in.GetLabId(), task.GetTask(), task.GetTaskType(),
			task.GetData().GetJson(), data)
	}
}

// Two analysers send their values while the order of the first one waits. Both values must be measured again, and a
// repeated message must not replace the order, because its delivery may have begun.
func TestAWaitingOrderIsExtended(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	f.allow(3, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	waiting := func() (id int64, order string) {
		var payload []byte
		if err := f.db.QueryRowContext(t.Context(), "SELECT id, payload FROM outbox_rerun").Scan(&id, &payload); err != nil || f.orders() != 1 {
			t.Fatalf("%d orders, error %v; want one", f.orders(), err)
		}
		var in taskqueuev1.EnqueueRequest
		if err := proto.Unmarshal(payload, &in); err != nil {
			t.Fatal(err)
		}
		return id, string(in.GetTasks()[0].GetData().GetJson())
	}
	evaluate := func(index int) {
		if got, err := f.evaluate(storetest.Report, autorerun.Reading{Index: index, Value: "1"}); err != nil || !slices.Equal(got, []int{index}) {
			t.Fatalf("index %d: %v, error %v; want it ordered", index, got, err)
		}
	}
	evaluate(3)
	evaluate(1)
	id, order := waiting()
	if !strings.Contains(order, `"requested_parameters":"[1, 3]"`) {
		t.Errorf("the order is %s, want the indices 1 and 3", order)
	}
	evaluate(3)
	if again, _ := waiting(); again != id {
		t.Errorf("a repeated message replaced order %d by %d, want no change", id, again)
	}
}

// Six analysers order at once, five times. The order must have all indices: the database serializes neither the reads
// nor the inserts of rows that do not exist yet.
func TestOrdersAtOnceAreCombined(t *testing.T) {
	t.Parallel()
	f := setup(t)
	orders := delivery.Orders{BaseURL: "http://gateway:8091", Outbox: f.store}
	for range 5 {
		storetest.Exec(t, f.db, "DELETE FROM outbox_rerun")
		var all sync.WaitGroup
		for index := range 6 {
			all.Go(func() {
				if err := orders.Order(t.Context(), storetest.Scope(t, 12), storetest.Report, []int{index}); err != nil {
					t.Errorf("index %d: %v, want it ordered", index, err)
				}
			})
		}
		all.Wait()
		var found bool
		err := f.db.QueryRowContext(t.Context(), "SELECT payload LIKE '%[0, 1, 2, 3, 4, 5]%' FROM outbox_rerun").Scan(&found)
		if err != nil || !found || f.orders() != 1 {
			t.Fatalf("%d orders, with all indices: %t, %v; want one with all", f.orders(), found, err)
		}
	}
}
