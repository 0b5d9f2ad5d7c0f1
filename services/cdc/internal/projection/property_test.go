package projection_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

func optional(t *rapid.T, label string) *int64 {
	if n := rapid.Int64Range(0, 4).Draw(t, label); n > 0 {
		return &n
	}
	return nil
}

func sources(t *rapid.T) projection.Sources {
	lab := rapid.Int64Range(1, 3)
	word := rapid.SampledFrom([]string{"", "a", "b", "c"})
	var s projection.Sources
	if rapid.IntRange(0, 5).Draw(t, "there") > 0 {
		s.Patient = &projection.Patient{LabID: lab.Draw(t, "lab"), BranchID: optional(t, "branch"), OrgID: optional(t, "org"),
			FullName: word.Draw(t, "name"), FirstName: word.Draw(t, "first"), IsDeleted: rapid.IntRange(0, 5).Draw(t, "deleted") == 0}
	}
	for id := range rapid.Int64Range(0, 6).Draw(t, "bills") {
		s.Bills = append(s.Bills, projection.Bill{ID: id + 1, LabID: lab.Draw(t, "lab"), LabBillID: rapid.Int64Range(1, 9).Draw(t, "number"),
			OrderNumber: word.Draw(t, "order"), OrgID: optional(t, "org"), CCID: optional(t, "cc"), Time: rapid.Int64Range(-3, 3).Draw(t, "time")})
	}
	for id := range rapid.Int64Range(0, 6).Draw(t, "reports") {
		s.Reports = append(s.Reports, projection.Report{ID: id + 1, LabID: lab.Draw(t, "lab"), SampleID: word.Draw(t, "sample"),
			LrfID: word.Draw(t, "lrf"), OrgID: optional(t, "org"), RerunOpen: rapid.Bool().Draw(t, "rerun")})
	}
	return s
}

func shuffled(s projection.Sources, seed uint64) projection.Sources {
	r := rand.New(rand.NewPCG(seed, seed))
	s.Bills, s.Reports = append([]projection.Bill(nil), s.Bills...), append([]projection.Report(nil), s.Reports...)
	r.Shuffle(len(s.Bills), func(i, j int) { s.Bills[i], s.Bills[j] = s.Bills[j], s.Bills[i] })
	r.Shuffle(len(s.Reports), func(i, j int) { s.Reports[i], s.Reports[j] = s.Reports[j], s.Reports[i] })
	return s
}

func TestTheOrderOfTheSourcesDoesNotMatter(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		s := sources(t)
		a, b := projection.Compute(1, s, nil), projection.Compute(1, shuffled(s, rapid.Uint64().Draw(t, "seed")), nil)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestALifeEndsInTheRowOfItsLastState checks random sequences of source states. The row must depend only on the last
// state and on the laboratories of the others, computing it again must change nothing, and revisions must only
// increase, whatever the clock does.
func TestALifeEndsInTheRowOfItsLastState(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		row := projection.Row{UserID: 1}
		labs := map[int64]bool{}
		var last projection.Sources
		for i := range rapid.IntRange(1, 8).Draw(t, "states") {
			last = sources(t)
			next := projection.Compute(1, last, &row)
			next.Rev = projection.NextRev(row.Rev, time.UnixMicro(rapid.Int64Range(1, 99).Draw(t, "clock")), 0)
			if next.Rev <= row.Rev {
				t.Fatalf("state %d: revision %d after %d", i, next.Rev, row.Rev)
			}
			row = next
			if last.Patient != nil {
				labs[last.Patient.LabID] = true
			}
		}
		if again := projection.Compute(1, last, &row); !again.Equal(row) {
			t.Fatal(cmp.Diff(row, again))
		}
		fresh := projection.Compute(1, last, nil)
		fresh.FormerLabIDs, fresh.Rev = row.FormerLabIDs, row.Rev
		if last.Patient == nil {
			fresh.LabID = row.LabID
		}
		if diff := cmp.Diff(fresh, row); diff != "" {
			t.Fatal(diff)
		}
		delete(labs, row.LabID)
		for _, lab := range row.FormerLabIDs {
			if !labs[lab] {
				t.Fatalf("laboratory %d was never the patient's, or still is", lab)
			}
			delete(labs, lab)
		}
		if len(labs) != 0 {
			t.Fatalf("no route for %v", labs)
		}
	})
}

// TestEqualLooksAtEveryField checks that every field but Rev and UpdatedAt is compared, including fields added in the
// future.
func TestEqualLooksAtEveryField(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[projection.Row]()
	for i := range fields.NumField() {
		var changed projection.Row
		field := reflect.ValueOf(&changed).Elem().Field(i)
		switch v := field.Addr().Interface().(type) {
		case *int64:
			*v = 5
		case **int64:
			*v = ptr(5)
		case *string:
			*v = "x"
		case *bool:
			*v = true
		case *[]int64:
			*v = []int64{5}
		case *[]string:
			*v = []string{"x"}
		default:
			t.Fatalf("field %s of a kind that this test does not know: %s", fields.Field(i).Name, fmt.Sprint(field.Type()))
		}
		name := fields.Field(i).Name
		ignored := name == "Rev" || name == "UpdatedAt"
		if got := changed.Equal(projection.Row{}); got != ignored {
			t.Errorf("%s: equal is %v", name, got)
		}
	}
}
