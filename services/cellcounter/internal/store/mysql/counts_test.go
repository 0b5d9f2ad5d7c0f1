package mysql_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/cellcounter/internal/counting"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/mysql"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

// put stores a count without checking the state of its report.
func (f fixture) put(a observe.Access, c observe.Count) error {
	f.Helper()
	_, err := f.ChangeCounts(f.Context(), a, storetest.Report, ownTest,
		func(observe.Facts) (observe.Decision, error) { return observe.Decision{Put: &c}, nil })
	return err
}

func counted(observer int, tallies ...counting.Tally) observe.Count {
	return observe.Count{Observer: observer, Tallies: tallies, CountedAt: 5, Version: int64(len(tallies)),
		CountedBy: authn.Actor{Kind: authn.ActorDoctor, ID: 77, Name: strings.Repeat("é", 255)}}
}

func TestCountsAreReplaced(t *testing.T) {
	t.Parallel()
	f, lab := open(t), observe.Access{Lab: storetest.Scope(t, 12)}
	first := counted(2, counting.Tally{CellID: 1, Count: 60, InTotal: true})
	second := counted(2, counting.Tally{CellID: 1, Count: 61, InTotal: true}, counting.Tally{CellID: 2, Count: 3})
	if err := f.put(lab, first); err != nil {
		t.Fatal(err)
	}
	entry := activitylog.Entry{Category: activitylog.CellCountReplaced, Actor: asha, At: time.Unix(5, 0)}
	_, err := f.ChangeCounts(t.Context(), lab, storetest.Report, ownTest, func(facts observe.Facts) (observe.Decision, error) {
		if want := (observe.Report{ID: storetest.Report, BillID: 1, TestID: ownTest}); facts.Report != want {
			t.Errorf("report %+v, want %+v", facts.Report, want)
		}
		if _, unknown := facts.Cells[999]; facts.Cells[1].Name != "Neutrophil" || unknown {
			t.Errorf("cells %v, want those of the table", facts.Cells)
		}
		if diff := cmp.Diff([]observe.Count{first}, facts.Counts); diff != "" {
			t.Errorf("counts (-want +got): %s", diff)
		}
		return observe.Decision{Put: &second, Log: &entry}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if _, err := f.ChangeCounts(t.Context(), lab, storetest.Report, ownTest,
		func(observe.Facts) (observe.Decision, error) { return observe.Decision{Put: &first}, broken }); !errors.Is(err, broken) {
		t.Errorf("the decision fails: %v, want its error", err)
	}
	_, got, err := f.Counts(t.Context(), lab, storetest.Report, ownTest)
	if diff := cmp.Diff([]observe.Count{second}, got); err != nil || diff != "" {
		t.Errorf("stored counts: %v (-want +got): %s", err, diff)
	}
}

// A report gets another sample between two counts. They must not be compared, and the report must wait for the first
// observer again.
func TestCountsOfTwoSamplesAreNotCompared(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	f, lab := fixture{T: t, Store: mysql.New(db)}, observe.Access{Lab: storetest.Scope(t, 12)}
	tally := counting.Tally{CellID: 1, Count: 60, InTotal: true}
	relabel := func(column, sample string) {
		storetest.Exec(t, db, "UPDATE labReportRelation SET "+column+" = '"+sample+"'")
	}
	relabel("sampleId", "")
	expect := func(when string, want ...bool) {
		t.Helper()
		_, counts, err := f.Counts(t.Context(), lab, storetest.Report, ownTest)
		if err != nil || len(counts) != len(want) {
			t.Fatalf("%s: %d counts, %v; want %d", when, len(counts), err, len(want))
		}
		for i, c := range counts {
			if c.OtherSample != want[i] {
				t.Errorf("%s: the count of observer %d is of another sample: %t, want %t", when, c.Observer, c.OtherSample, want[i])
			}
		}
	}
	for _, observer := range []int{1, 2} {
		if err := f.put(lab, counted(observer, tally)); err != nil {
			t.Fatal(err)
		}
		expect("without a number of the sample", make([]bool, observer)...)
	}
	relabel("manualSampleId", "M-1")
	expect("a number that came later", false, false)
	if err := f.put(lab, counted(1, tally)); err != nil {
		t.Fatal(err)
	}
	relabel("sampleId", "S-2")
	expect("another sample", true, false)
	if err := f.put(lab, counted(1, tally)); err != nil {
		t.Fatal(err)
	}
	expect("the present sample counted", false, false)
}

func TestReportsOfOthersAreUnknown(t *testing.T) {
	t.Parallel()
	f, lab := open(t), storetest.Scope(t, 12)
	count := counted(1, counting.Tally{CellID: 1, Count: 1, InTotal: true})
	if err := f.put(observe.Access{Lab: lab, OwnBills: true, DoctorID: storetest.Doctor}, count); err != nil {
		t.Errorf("the bill's doctor saves: %v", err)
	}
	for name, other := range map[string]observe.Access{
		"another laboratory":  {Lab: storetest.Scope(t, 13)},
		"another doctor":      {Lab: lab, OwnBills: true, DoctorID: storetest.Doctor + 1},
		"a doctor without id": {Lab: lab, OwnBills: true},
	} {
		if err := f.put(other, count); !errors.Is(err, observe.ErrNoReport) {
			t.Errorf("%s saves: %v, want ErrNoReport", name, err)
		}
		if _, _, err := f.Counts(t.Context(), other, storetest.Report, ownTest); !errors.Is(err, observe.ErrNoReport) {
			t.Errorf("%s reads: %v, want ErrNoReport", name, err)
		}
	}
}
