package mongo_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

// documents is an empty store with helpers for tests.
type documents struct {
	*mongo.Store

	t *testing.T
}

func empty(t *testing.T) documents {
	t.Helper()
	return documents{mongo.New(mongotest.Database(t)), t}
}

func (d documents) write(w rerun.Writes) {
	d.t.Helper()
	d.writeAs(12, w)
}

func (d documents) writeAs(lab int64, w rerun.Writes) {
	d.t.Helper()
	if err := d.Write(d.t.Context(), storetest.Scope(d.t, lab), w); err != nil {
		d.t.Fatal(err)
	}
}

func (d documents) refused(w rerun.Writes) {
	d.t.Helper()
	if err := d.Write(d.t.Context(), storetest.Scope(d.t, 12), w); !rerun.IsDuplicate(err) {
		d.t.Fatalf("%+v: %v, want a duplicate", w, err)
	}
}

func (d documents) records(lab int64, reports ...int64) []rerun.Record {
	d.t.Helper()
	records, err := d.OfReports(d.t.Context(), storetest.Scope(d.t, lab), reports)
	if err != nil {
		d.t.Fatal(err)
	}
	return records
}

func (d documents) values(lab int64, reports ...int64) []rerun.Value {
	d.t.Helper()
	values, err := d.ValuesOfReports(d.t.Context(), storetest.Scope(d.t, lab), reports)
	if err != nil {
		d.t.Fatal(err)
	}
	return values
}

// active returns the ids of the records of report 7001, with an asterisk after active ones.
func (d documents) active(lab int64) string {
	d.t.Helper()
	text := ""
	for _, r := range d.records(lab, 7001) {
		text += r.ID
		if r.Active {
			text += "*"
		}
	}
	return text
}

func insert(id string, kind rerun.Type, number int, active bool) rerun.Writes {
	return rerun.Writes{Record: storetest.Record(id, 7001, kind, number, active)}
}

func value(id string, number, order, index int) rerun.Value {
	return rerun.Value{ID: id, LabID: 12, ReportID: 7001, SampleID: "S-1", Value: "13.5", Order: order, Index: index,
		RerunType: "manual_rerun", Number: number, ParameterName: "Hb", TestID: 302, TestKnown: true, DeviceID: "d",
		DeviceName: "D", CreatedAt: storetest.Now}
}

func TestRecordsAreReadBackInTheOrderOfTheirNumbers(t *testing.T) {
	t.Parallel()
	d := empty(t)
	want := []rerun.Record{*storetest.Record("b", 7001, rerun.Auto, 1, false), *storetest.Record("a", 7001, rerun.Manual, 2, true)}
	d.write(rerun.Writes{Record: &want[1]})
	d.write(rerun.Writes{Record: &want[0]})
	if diff := cmp.Diff(want, d.records(12, 7001)); diff != "" {
		t.Fatalf("records (-want +got):\n%s", diff)
	}
}

func TestSlotsAndNumbersAreUnique(t *testing.T) {
	t.Parallel()
	d := empty(t)
	d.write(insert("a", rerun.Auto, 1, true))
	d.refused(insert("b", rerun.Manual, 2, true))
	d.write(insert("c", rerun.ByAnalyser, 3, false))
	d.refused(insert("d", rerun.ByAnalyser, 3, false))
	d.write(rerun.Writes{Close: []string{"a", "absent"}})
	d.refused(insert("e", rerun.Auto, 4, false)) // a closed automatic request keeps its slot
	d.write(rerun.Writes{Reopen: []string{"a", "absent"}})
	d.refused(insert("b", rerun.Manual, 2, true))
	d.write(rerun.Writes{Retire: []string{"a", "absent"}, Record: storetest.Record("e", 7001, rerun.Auto, 4, true)})
	// Some stores return another error for this.
	if err := d.Write(t.Context(), storetest.Scope(t, 12), rerun.Writes{Reopen: []string{"a"}}); err == nil {
		t.Error("two records hold the open slot, want an error")
	}
	if got := d.active(12); got != "ace*" {
		t.Errorf("records %s, want ace*", got)
	}
}

func TestOfRacingInsertsOneWins(t *testing.T) {
	t.Parallel()
	d := empty(t)
	errs := make([]error, 8)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() {
			errs[i] = d.Write(t.Context(), storetest.Scope(t, 12), insert(fmt.Sprint("r", i), rerun.Manual, i+1, true))
		})
	}
	wait.Wait()
	won := slices.DeleteFunc(errs, rerun.IsDuplicate)
	if len(won) != 1 || won[0] != nil {
		t.Fatalf("results %v beside refused inserts, want one without an error", won)
	}
}

func TestAnotherLaboratoryReadsAndChangesNothing(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"12-a", "a"} { // ids with and without the laboratory
		d := empty(t)
		v := value("12-v", 1, 0, 3)
		d.write(rerun.Writes{Record: storetest.Record(id, 7001, rerun.Manual, 1, true), Insert: []rerun.Value{v}})
		changed := v
		changed.Value = "1"
		d.writeAs(13, rerun.Writes{DeleteRecords: []string{id}, DeleteValues: []string{v.ID}, Close: []string{id},
			Retire: []string{id}, Replace: []rerun.Value{changed}})
		if got := d.active(12); got != id+"*" || !cmp.Equal(d.values(12, 7001), []rerun.Value{v}) {
			t.Errorf("records %s and values %+v, want %s* and %+v", got, d.values(12, 7001), id, v)
		}
		if len(d.records(13, 7001))+len(d.values(13, 7001)) != 0 {
			t.Errorf("laboratory 13 reads %+v and %+v, want nothing", d.records(13, 7001), d.values(13, 7001))
		}
	}
}

func TestValuesAreUniqueAndOrdered(t *testing.T) {
	t.Parallel()
	d := empty(t)
	want := []rerun.Value{value("a", 1, 0, 9), value("b", 1, 1, 2), value("c", 1, 1, 3), value("d", 2, 0, 1)}
	want[0].TestID, want[0].TestKnown = 0, false
	d.write(rerun.Writes{Insert: want[3:]})
	d.write(rerun.Writes{Insert: []rerun.Value{want[1], want[0], want[2]}})
	d.refused(rerun.Writes{Insert: []rerun.Value{value("e", 1, 5, 9)}})
	d.refused(rerun.Writes{Insert: []rerun.Value{value("f", 2, 0, 1), value("g", 2, 5, 1)}})
	if diff := cmp.Diff(want, d.values(12, 7001)); diff != "" {
		t.Fatalf("values (-want +got):\n%s", diff)
	}
}

func TestAReplacedValueKeepsItsHistory(t *testing.T) {
	t.Parallel()
	d := empty(t)
	first := value("a", 1, 0, 9)
	d.write(rerun.Writes{Insert: []rerun.Value{first, value("b", 1, 1, 2)}})
	second := value("unused", 1, 2, 9)
	second.Value, second.DeviceID, second.CreatedAt = "14.1", "e", storetest.Now.Add(time.Minute)
	second = second.Replaces(first)
	d.write(rerun.Writes{Replace: []rerun.Value{second}})
	third := second
	third.Value = "14.2"
	third = third.Replaces(second)
	d.write(rerun.Writes{Replace: []rerun.Value{third}})
	if diff := cmp.Diff([]rerun.Value{value("b", 1, 1, 2), third}, d.values(12, 7001)); diff != "" || len(third.History) != 2 {
		t.Fatalf("%d previous values, want 2; values (-want +got):\n%s", len(third.History), diff)
	}
}

func TestExactlyTheNamedDocumentsAreDeleted(t *testing.T) {
	t.Parallel()
	d := empty(t)
	d.write(rerun.Writes{Insert: []rerun.Value{value("a", 1, 0, 1), value("b", 1, 0, 2), value("c", 1, 0, 3)}})
	for i, id := range []string{"r", "s", "t"} {
		d.write(insert(id, rerun.ByAnalyser, i+1, false))
	}
	d.write(rerun.Writes{DeleteValues: []string{"a", "c", "absent"}, DeleteRecords: []string{"r", "t", "absent"}})
	if values := d.values(12, 7001); len(values) != 1 || values[0].ID != "b" || d.active(12) != "s" {
		t.Fatalf("values %+v and records %s, want b and s", values, d.active(12))
	}
}

func TestStaleReportsAreFoundAPageAtATime(t *testing.T) {
	t.Parallel()
	d := empty(t)
	at := storetest.Now
	add := func(report int64, createdAt time.Time, number int) {
		r := storetest.Record(fmt.Sprint(report, number), report, rerun.ByAnalyser, number, false)
		r.CreatedAt = createdAt
		d.write(rerun.Writes{Record: r})
	}
	for _, report := range []int64{7001, 7005} {
		add(report, at, 1)
	}
	add(7001, at, 2)
	add(7002, at.Add(time.Hour), 1)
	foreign := storetest.Record("f", 8001, rerun.Manual, 1, true)
	foreign.LabID = 13
	withoutRecord, young := value("v", 1, 0, 1), value("w", 1, 0, 2)
	withoutRecord.ReportID, young.ReportID, young.CreatedAt = 7003, 7004, at.Add(time.Hour)
	d.write(rerun.Writes{Record: foreign, Insert: []rerun.Value{withoutRecord, young, value("x", 1, 0, 3)}})
	for _, page := range []struct {
		after int64
		limit int
		want  []int64
	}{
		{0, 10, []int64{7001, 7003, 7005}}, {0, 1, []int64{7001}}, {0, 2, []int64{7001, 7003}},
		{7001, 2, []int64{7003, 7005}}, {7005, 2, nil},
	} {
		got, err := d.StaleReports(t.Context(), storetest.Scope(t, 12), at.Add(time.Minute), page.after, page.limit)
		if diff := cmp.Diff(page.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%d above %d, %v (-want +got):\n%s", page.limit, page.after, err, diff)
		}
	}
	if got, err := d.Laboratories(t.Context()); err != nil || !slices.Equal(got, []int64{12, 13}) {
		t.Errorf("laboratories with documents %v, %v; want 12 and 13", got, err)
	}
	if n, m := len(d.records(12, 7001, 7002, 8001)), len(d.values(12, 7001, 7003)); n != 3 || m != 2 {
		t.Errorf("%d records and %d values of several reports, want 3 and 2", n, m)
	}
}
