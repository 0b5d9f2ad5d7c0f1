package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/rerun/internal/autorerun"
	"github.com/labplatform/labplatform/services/rerun/internal/delivery"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/enginetest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mysql"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// records answers with what a test put there.
type records []rerun.Record

func (r records) OfReport(context.Context, authn.LabScope, int64) ([]rerun.Record, error) {
	return r, nil
}

type counts struct{}

func (counts) Evaluated(bool) {}

type bench struct {
	t       *testing.T
	db      *sql.DB
	store   *mysql.Store
	records records
	woken   int
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, db: enginetest.Database(t)}
	enginetest.Exec(t, b.db, enginetest.Rows()...)
	var err error
	if b.store, err = mysql.New(b.db, clock.Fixed(now)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) evaluate(reportID int64, readings ...autorerun.Reading) ([]int, error) {
	b.t.Helper()
	u := autorerun.New(autorerun.Deps{
		Subjects: b.store, Records: b.records, Orders: delivery.Orders{BaseURL: "http://gateway:8091/", Outbox: b.store},
		WakeRelay: func() { b.woken++ }, Log: slog.New(slog.DiscardHandler), Counters: counts{},
	})
	return u.Evaluate(b.t.Context(), storetest.Scope(b.t, 12), reportID, readings)
}

// allow configures a parameter and its one range for women: normal 12–16, critical 7–20.
func (b *bench) allow(format int, meta string) {
	b.t.Helper()
	enginetest.Exec(b.t, b.db,
		fmt.Sprintf("UPDATE ReportFormat SET meta = '%s' WHERE id = %d", meta, format),
		fmt.Sprintf("INSERT INTO ReportFormatRange (reportFormatId_id, gender, ageFrom, ageFromUnit, ageTo, ageToUnit,"+
			" lowerBound, upperBound, criticalLower, criticalUpper)"+
			" VALUES (%d, 'F', 18, 'Y', NULL, 'Y', 12, 16, 7, 20)", format))
}

func (b *bench) orders() int {
	b.t.Helper()
	var n int
	if err := b.db.QueryRowContext(b.t.Context(), "SELECT COUNT(*) FROM outbox_rerun").Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

func TestTheConfiguredConditionDecides(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.allow(1, "{}")
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
	} {
		if name == "custom, absurd limit" && !mysqltest.IsMariaDB(t, b.db) {
			continue // MySQL refuses to store the number
		}
		t.Run(name, func(t *testing.T) {
			b.t, b.woken = t, 0
			enginetest.Exec(t, b.db, "DELETE FROM outbox_rerun", "UPDATE ReportFormat SET meta = '"+c.meta+"' WHERE id = 1")
			got, err := b.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: c.value},
				autorerun.Reading{Index: 3, Value: "0"})
			if err != nil {
				t.Fatal(err)
			}
			if (len(got) == 1) != c.qualify || (b.orders() == 1) != c.qualify || (b.woken == 1) != c.qualify {
				t.Fatalf("qualifying %v, %d orders, woken %d", got, b.orders(), b.woken)
			}
		})
	}
}

func TestProfileChildrenCountAndDisabledFormatsDoNot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const abnormal = `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`
	for _, format := range []int{1, 5, 8, 9} {
		b.allow(format, abnormal)
	}
	readings := []autorerun.Reading{{Index: 9, Value: "1"}, {Index: 8, Value: "1"}, {Index: 5, Value: "1"},
		{Index: 1, Value: "1"}, {Index: 1, Value: "13"}, {Index: 77, Value: "1"}}
	got, err := b.evaluate(storetest.Report, readings...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 8}, got); diff != "" {
		t.Fatal(diff)
	}
	if got, err = b.evaluate(storetest.OtherReport, readings...); err != nil || !cmp.Equal(got, []int{1}) {
		t.Fatalf("a report that is no profile: %v, error %v", got, err)
	}
}

func TestTheAgeIsThatOfTheCollectionDayInTheLaboratory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	reading := autorerun.Reading{Index: 1, Value: "1"}
	// Collected at 20:00 UTC on the 20th: the 21st in Kolkata, the patient's 18th birthday, when the range begins.
	enginetest.Exec(t, b.db, "UPDATE userDetails SET dateOfBirth = '2008-11-21' WHERE id = 501")
	if got, err := b.evaluate(storetest.Report, reading); err != nil || len(got) != 1 {
		t.Fatalf("on the birthday: %v, error %v", got, err)
	}
	enginetest.Exec(t, b.db, "UPDATE userDetails SET dateOfBirth = '2008-11-22' WHERE id = 501")
	if got, err := b.evaluate(storetest.Report, reading); err != nil || len(got) != 0 {
		t.Fatalf("the day before: %v, error %v", got, err)
	}
	enginetest.Exec(t, b.db, "UPDATE userDetails SET dateOfBirth = NULL, age = '36 Y' WHERE id = 501")
	if got, err := b.evaluate(storetest.Report, reading); err != nil || len(got) != 1 {
		t.Fatalf("by the recorded age: %v, error %v", got, err)
	}
}

func TestTextsAndTitresAreJudgedAsConfigured(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const abnormal = `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`
	enginetest.Exec(t, b.db,
		"UPDATE ReportFormat SET valueType = 'text', meta = '"+abnormal+"' WHERE id = 1",
		`INSERT INTO ReportFormatRange (reportFormatId_id, normalTexts) VALUES (1, '["Negative"]')`,
		"UPDATE ReportFormat SET valueType = 'titer', meta = '"+abnormal+"' WHERE id = 3",
		"INSERT INTO ReportFormatRange (reportFormatId_id, upperBound) VALUES (3, 80)")
	got, err := b.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: "positive"},
		autorerun.Reading{Index: 3, Value: "1:160"})
	if err != nil || !cmp.Equal(got, []int{1, 3}) {
		t.Fatalf("%v, error %v", got, err)
	}
	b.records = records{}
	got, err = b.evaluate(storetest.Report, autorerun.Reading{Index: 1, Value: "NEGATIVE"},
		autorerun.Reading{Index: 3, Value: "160"})
	if err != nil || len(got) != 0 {
		t.Fatalf("%v, error %v", got, err)
	}
}

func TestAnExistingAutomaticRecordEndsTheEvaluation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	b.records = records{{Type: rerun.Manual}, {Type: rerun.Auto}}
	reading := autorerun.Reading{Index: 1, Value: "1"}
	if got, err := b.evaluate(storetest.Report, reading); err != nil || len(got) != 1 || b.orders() != 1 {
		t.Fatalf("what a closed rerun left counts: %v, %d orders, error %v", got, b.orders(), err)
	}
	enginetest.Exec(t, b.db, "DELETE FROM outbox_rerun",
		"UPDATE labReportRelation SET sampleRedrawFlag = 4 WHERE id = 7001")
	if got, err := b.evaluate(storetest.Report, reading); err != nil || len(got) != 0 || b.orders() != 0 {
		t.Fatalf("%v, %d orders, error %v", got, b.orders(), err)
	}
}

func TestReportsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, id := range []int64{storetest.ForeignReport, 99} {
		if _, err := b.evaluate(id, autorerun.Reading{Index: 9, Value: "1"}); apperr.KindOf(err) != apperr.NotFound {
			t.Errorf("report %d: %v", id, err)
		}
	}
}

func TestTheOrderPostsTheDocumentedBodyOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.allow(1, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	b.allow(3, `{"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal"}`)
	for range 2 { // the second while the first waits
		if _, err := b.evaluate(storetest.Report, autorerun.Reading{Index: 3, Value: "1"},
			autorerun.Reading{Index: 1, Value: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	var payload []byte
	if err := b.db.QueryRowContext(t.Context(), "SELECT payload FROM outbox_rerun").Scan(&payload); err != nil ||
		b.orders() != 1 {
		t.Fatalf("%d orders, error %v", b.orders(), err)
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
