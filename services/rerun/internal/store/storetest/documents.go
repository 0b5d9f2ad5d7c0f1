package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Documents is what every document store must offer.
type Documents interface {
	Insert(ctx context.Context, record rerun.Record) error
	OfReport(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Record, error)
	Close(ctx context.Context, scope authn.LabScope, id string) error
	Retire(ctx context.Context, scope authn.LabScope, id string) error
	Reopen(ctx context.Context, scope authn.LabScope, id string) error
	Delete(ctx context.Context, scope authn.LabScope, ids ...string) error
	InsertValues(ctx context.Context, values []rerun.Value) error
	ReplaceValue(ctx context.Context, scope authn.LabScope, v rerun.Value) error
	DeleteValues(ctx context.Context, scope authn.LabScope, ids []string) error
	Laboratories(ctx context.Context) ([]int64, error)
	StaleReports(
		ctx context.Context, scope authn.LabScope, before time.Time, after int64, limit int,
	) ([]int64, error)
	OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error)
	ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error)
	Values(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Value, error)
}

// at is a time that every store keeps exactly: milliseconds.
var at = time.Date(2026, 11, 21, 10, 0, 0, 123_000_000, time.UTC)

// Scope returns the scope of a laboratory.
func Scope(t testing.TB, labID int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Service}.Scope(labID)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// Record returns a record of laboratory 12.
func Record(id string, reportID int64, kind rerun.Type, number int, active bool) rerun.Record {
	return rerun.Record{ID: id, LabID: 12, ReportID: reportID, Type: kind, Number: number, Requested: []int{3, 1},
		ParameterNames: []string{"c", "a"}, Active: active, SampleID: "S-1", CreatedBy: 77,
		CreatedByKind: "support", UpdatedBy: -1, CreatedAt: at,
		UpdatedAt: at}
}

// Run checks a document store; open returns an empty one.
func Run(t *testing.T, open func(t *testing.T) Documents) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Documents){
		"records read back as they were stored":               readsBack,
		"one record holds the open slot":                      oneOpen,
		"one automatic record at a time":                      oneAutomatic,
		"numbers are unique for a report":                     uniqueNumbers,
		"of racing inserts exactly one wins":                  racing,
		"another laboratory neither sees nor changes records": scoped,
		"values are unique and ordered":                       values,
		"a replaced value keeps what was there before":        replaced,
		"exactly the named documents are deleted":             deleted,
		"a slot is taken again":                               reopened,
		"stale reports are found a page at a time":            stale,
		"repeated changes are no errors":                      repeated,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, err error) {
	t.Helper()
	if e, ok := apperr.From(err); !ok || e.Reason != rerun.ErrDuplicate.Reason {
		t.Fatalf("error = %v, want a conflict", err)
	}
}

func readsBack(t *testing.T, d Documents) {
	want := []rerun.Record{Record("b", 7001, rerun.Auto, 1, false), Record("a", 7001, rerun.Manual, 2, true)}
	must(t, d.Insert(t.Context(), want[1]))
	must(t, d.Insert(t.Context(), want[0]))
	got, err := d.OfReport(t.Context(), Scope(t, 12), 7001)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func oneOpen(t *testing.T, d Documents) {
	must(t, d.Insert(t.Context(), Record("a", 7001, rerun.Manual, 1, true)))
	refused(t, d.Insert(t.Context(), Record("b", 7001, rerun.Manual, 2, true)))
	must(t, d.Insert(t.Context(), Record("c", 7002, rerun.Manual, 1, true)))
	must(t, d.Insert(t.Context(), Record("d", 7001, rerun.ByAnalyser, 3, false)))
	must(t, d.Close(t.Context(), Scope(t, 12), "a"))
	must(t, d.Insert(t.Context(), Record("b", 7001, rerun.Manual, 2, true)))
	records, err := d.OfReport(t.Context(), Scope(t, 12), 7001)
	must(t, err)
	if len(records) != 3 || records[0].Active || !records[1].Active {
		t.Fatalf("%+v", records)
	}
}

func oneAutomatic(t *testing.T, d Documents) {
	must(t, d.Insert(t.Context(), Record("a", 7001, rerun.Auto, 1, true)))
	must(t, d.Close(t.Context(), Scope(t, 12), "a"))
	refused(t, d.Insert(t.Context(), Record("b", 7001, rerun.Auto, 2, true)))
	must(t, d.Retire(t.Context(), Scope(t, 12), "a"))
	must(t, d.Insert(t.Context(), Record("b", 7001, rerun.Auto, 2, true)))
}

func uniqueNumbers(t *testing.T, d Documents) {
	must(t, d.Insert(t.Context(), Record("a", 7001, rerun.Manual, 1, false)))
	refused(t, d.Insert(t.Context(), Record("b", 7001, rerun.ByAnalyser, 1, false)))
	must(t, d.Delete(t.Context(), Scope(t, 12), "a"))
	must(t, d.Insert(t.Context(), Record("b", 7001, rerun.ByAnalyser, 1, false)))
}

func racing(t *testing.T, d Documents) {
	const racers = 8
	errs := make([]error, racers)
	var wait sync.WaitGroup
	for i := range racers {
		wait.Go(func() {
			errs[i] = d.Insert(t.Context(), Record(fmt.Sprint("r", i), 7001, rerun.Manual, i+1, true))
		})
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		refused(t, err)
	}
	if won != 1 {
		t.Fatalf("%d inserts won", won)
	}
}

func scoped(t *testing.T, d Documents) {
	const named = "12-a" // names its laboratory
	must(t, d.Insert(t.Context(), Record("a", 7001, rerun.Manual, 1, true)))
	must(t, d.Insert(t.Context(), Record(named, 7002, rerun.Manual, 1, true)))
	must(t, d.Close(t.Context(), Scope(t, 13), named))
	must(t, d.Delete(t.Context(), Scope(t, 13), named))
	if records, err := d.OfReport(t.Context(), Scope(t, 12), 7002); err != nil || len(records) != 1 || !records[0].Active {
		t.Fatalf("%+v %v", records, err)
	}
	must(t, d.Close(t.Context(), Scope(t, 12), named))
	if records, err := d.OfReport(t.Context(), Scope(t, 12), 7002); err != nil || len(records) != 1 || records[0].Active {
		t.Fatalf("%+v %v", records, err)
	}
	other := Scope(t, 13)
	must(t, d.Close(t.Context(), other, "a"))
	must(t, d.Retire(t.Context(), other, "a"))
	must(t, d.Delete(t.Context(), other, "a"))
	if records, err := d.OfReport(t.Context(), other, 7001); err != nil || len(records) != 0 {
		t.Fatalf("another laboratory sees %v, error %v", records, err)
	}
	records, err := d.OfReport(t.Context(), Scope(t, 12), 7001)
	must(t, err)
	if len(records) != 1 || !records[0].Active {
		t.Fatalf("%+v", records)
	}
}

// Value returns a value of laboratory 12 for report 7001.
func Value(id string, number, order, index int) rerun.Value {
	return rerun.Value{ID: id, LabID: 12, ReportID: 7001, SampleID: "S-1", Value: "13.5", Order: order, Index: index,
		RerunType: "manual_rerun", Number: number, ParameterName: "Hb", DeviceID: "d", DeviceName: "D", CreatedAt: at}
}

func values(t *testing.T, d Documents) {
	want := []rerun.Value{Value("a", 1, 0, 9), Value("b", 1, 1, 2), Value("c", 1, 1, 3), Value("d", 2, 0, 1)}
	must(t, d.InsertValues(t.Context(), []rerun.Value{want[3]}))
	must(t, d.InsertValues(t.Context(), []rerun.Value{want[1], want[0], want[2]}))
	refused(t, d.InsertValues(t.Context(), []rerun.Value{Value("e", 1, 5, 9)}))
	refused(t, d.InsertValues(t.Context(), []rerun.Value{Value("f", 2, 0, 1), Value("g", 2, 5, 1)}))
	got, err := d.Values(t.Context(), Scope(t, 12), 7001)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if got, err = d.Values(t.Context(), Scope(t, 13), 7001); err != nil || len(got) != 0 {
		t.Fatalf("another laboratory sees %v, error %v", got, err)
	}
}

func replaced(t *testing.T, d Documents) {
	first := Value("a", 1, 0, 9)
	must(t, d.InsertValues(t.Context(), []rerun.Value{first, Value("b", 1, 1, 2)}))
	second := Value("unused", 1, 2, 9)
	second.Value, second.DeviceID, second.CreatedAt = "14.1", "e", at.Add(time.Minute)
	second = second.Replaces(first)
	must(t, d.ReplaceValue(t.Context(), Scope(t, 13), second)) // of another laboratory: nothing happens
	must(t, d.ReplaceValue(t.Context(), Scope(t, 12), second))
	third := second
	third.Value = "14.2"
	third = third.Replaces(second)
	must(t, d.ReplaceValue(t.Context(), Scope(t, 12), third))
	got, err := d.Values(t.Context(), Scope(t, 12), 7001)
	must(t, err)
	if diff := cmp.Diff([]rerun.Value{Value("b", 1, 1, 2), third}, got); diff != "" {
		t.Fatal(diff)
	}
	if third.ID != "a" || len(third.History) != 2 || third.History[0].Value != "13.5" || third.History[1].Value != "14.1" {
		t.Fatalf("history %+v", third.History)
	}
}

func deleted(t *testing.T, d Documents) {
	must(t, d.InsertValues(t.Context(), []rerun.Value{Value("a", 1, 0, 1), Value("b", 1, 0, 2), Value("c", 1, 0, 3)}))
	for i, id := range []string{"r", "s", "t"} {
		must(t, d.Insert(t.Context(), Record(id, 7001, rerun.ByAnalyser, i+1, false)))
	}
	must(t, d.DeleteValues(t.Context(), Scope(t, 13), []string{"a", "b", "c"}))
	must(t, d.DeleteValues(t.Context(), Scope(t, 12), []string{"a", "c", "absent"}))
	must(t, d.Delete(t.Context(), Scope(t, 12), "r", "t", "absent"))
	values, err := d.Values(t.Context(), Scope(t, 12), 7001)
	must(t, err)
	records, err := d.OfReport(t.Context(), Scope(t, 12), 7001)
	must(t, err)
	if len(values) != 1 || values[0].ID != "b" || len(records) != 1 || records[0].ID != "s" {
		t.Fatalf("%+v %+v", values, records)
	}
}

func reopened(t *testing.T, d Documents) {
	must(t, d.Insert(t.Context(), Record("a", 7001, rerun.Manual, 1, true)))
	must(t, d.Close(t.Context(), Scope(t, 12), "a"))
	must(t, d.Reopen(t.Context(), Scope(t, 12), "a"))
	refused(t, d.Insert(t.Context(), Record("b", 7001, rerun.Manual, 2, true)))
	must(t, d.Insert(t.Context(), Record("b", 7001, rerun.Manual, 2, false)))
	// Not every store names this error; it only has to refuse.
	if err := d.Reopen(t.Context(), Scope(t, 12), "b"); err == nil {
		t.Fatal("two records hold the open slot")
	}
}

func stale(t *testing.T, d Documents) {
	other := Record("b", 8001, rerun.Manual, 1, true)
	other.LabID = 13
	fresh := Record("c", 7002, rerun.Manual, 1, true)
	fresh.CreatedAt = at.Add(time.Hour)
	records := []rerun.Record{Record("a", 7001, rerun.Manual, 1, true), Record("a2", 7001, rerun.ByAnalyser, 2, false),
		other, fresh, Record("e", 7005, rerun.Manual, 1, true)}
	for _, r := range records {
		must(t, d.Insert(t.Context(), r))
	}
	withoutRecord, young := Value("v", 1, 0, 1), Value("w", 1, 0, 2)
	withoutRecord.ReportID, young.ReportID, young.CreatedAt = 7003, 7004, fresh.CreatedAt
	must(t, d.InsertValues(t.Context(), []rerun.Value{withoutRecord, young, Value("x", 1, 0, 3)}))
	for _, page := range []struct {
		after int64
		limit int
		want  []int64
	}{
		{0, 10, []int64{7001, 7003, 7005}}, {0, 1, []int64{7001}}, {0, 2, []int64{7001, 7003}},
		{7001, 2, []int64{7003, 7005}}, {7005, 2, nil},
	} {
		got, err := d.StaleReports(t.Context(), Scope(t, 12), at.Add(time.Minute), page.after, page.limit)
		must(t, err)
		if diff := cmp.Diff(page.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d above %d: %s", page.limit, page.after, diff)
		}
	}
	laboratories, err := d.Laboratories(t.Context())
	must(t, err)
	if !slices.Contains(laboratories, 12) || slices.Contains(laboratories, 14) {
		t.Errorf("laboratories with documents: %v", laboratories)
	}
	ofReports, err := d.OfReports(t.Context(), Scope(t, 12), []int64{7001, 7002, 8001})
	must(t, err)
	values, err := d.ValuesOfReports(t.Context(), Scope(t, 12), []int64{7001, 7003})
	must(t, err)
	if len(ofReports) != 3 || len(values) != 2 {
		t.Fatalf("%+v %+v", ofReports, values)
	}
}

func repeated(t *testing.T, d Documents) {
	for range 2 {
		must(t, d.Close(t.Context(), Scope(t, 12), "absent"))
		must(t, d.Retire(t.Context(), Scope(t, 12), "absent"))
		must(t, d.Reopen(t.Context(), Scope(t, 12), "absent"))
		must(t, d.Delete(t.Context(), Scope(t, 12), "absent"))
		must(t, d.DeleteValues(t.Context(), Scope(t, 12), []string{"absent"}))
	}
}
