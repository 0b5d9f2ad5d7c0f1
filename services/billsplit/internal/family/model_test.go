package family_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

// TestAnyHistoryAddsUp splits a random bill and undoes splits in random order. Calculated amounts equal the written
// ones, the sums do not change, and undoing all splits, the last first, restores the bill.
func TestAnyHistoryAddsUp(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, storetest.NewState())
	cases := storetest.NewCases(t, b.Store)
	property.Check(t, func(rt *rapid.T) {
		start := randomState(rt)
		b.Reset(start)
		var made []int64
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			if len(made) > 0 && rapid.IntRange(0, 2).Draw(rt, "back") == 0 {
				id := rapid.SampledFrom(made).Draw(rt, "bill")
				if _, err := cases.Back(t.Context(), "", id); err == nil {
					made = slices.DeleteFunc(made, func(other int64) bool { return other == id })
				} else if !apperr.Is(err, apperr.Conflict) {
					rt.Fatal(err)
				}
			} else if id := splitSome(t, rt, cases, b); id != 0 {
				made = append(made, id)
			}
			expectSums(rt, start, b.Dump())
		}
		for _, id := range slices.Backward(made) {
			if _, err := cases.Back(t.Context(), "", id); err != nil {
				rt.Fatalf("merge %d: %v", id, err)
			}
		}
		end := b.Dump()
		if diff := cmp.Diff([]any{start.Bills[original], start.Tests, start.Reports}, []any{unversioned(end.Bills[original]), end.Tests, end.Reports}); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func randomState(rt *rapid.T) storetest.State {
	s := storetest.Worked()
	clear(s.Tests)
	clear(s.Reports)
	head := s.Bills[original]
	head.Amounts = bill.Amounts{VATPercent: 180_000, VAT: some(rt, "vat"), TDS: some(rt, "tds"), Additional: some(rt, "additional")}
	for i := range rapid.Int64Range(2, 6).Draw(rt, "tests") {
		row := bill.Row{ID: 100 + i, LabID: 12, Amount: some(rt, "amount"), CoPay: some(rt, "co-pay"),
			PatientPayable: some(rt, "patient's part")}
		row.Concession = row.Amount / 4
		s.Tests[row.ID] = storetest.Test{Row: row, BillID: original}
		s.Reports[row.ID] = storetest.Report{LabID: 12, BillID: original, TestID: row.ID}
		head.Amounts.Total += row.Amount - row.Concession
		head.Amounts.Concession += row.Concession
		head.Amounts.CoPay += row.CoPay
	}
	head.Amounts.Total += head.Amounts.Additional - head.Amounts.TDS + head.Amounts.VAT
	head.Amounts.PatientPayable = some(rt, "the bill's patient's part")
	discount := min(some(rt, "the bill's discount"), max(head.Amounts.Total, 0))
	head.Amounts.Concession += discount
	head.Amounts.Total -= discount
	s.Bills[original] = head
	return s
}

func some(rt *rapid.T, name string) bill.Paise {
	return bill.Paise(rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(0, 99_999)).Draw(rt, name))
}

// splitSome splits at random. It returns the new bill's id, 0 if the split was rejected.
func splitSome(t *testing.T, rt *rapid.T, cases storetest.Cases, b storetest.Database) int64 {
	t.Helper()
	tests := rapid.SliceOfNDistinct(rapid.Int64Range(100, 105), 1, 3, rapid.ID).Draw(rt, "tests")
	p, err := cases.Calculate(t.Context(), cases.Request("", tests...))
	if err != nil {
		rt.Fatal(err)
	}
	r, err := cases.Split(t.Context(), "", tests...)
	if refused := (*split.Refused)(nil); errors.As(err, &refused) {
		if len(p.Failures)+len(p.Warnings) == 0 {
			rt.Fatalf("refused without a warning: %+v", refused.Failures)
		}
		return 0
	}
	if err != nil {
		rt.Fatal(err)
	}
	now := b.Dump().Bills
	if now[original].Amounts != p.Division.Parent || now[r.New.ID].Amounts != p.Division.New {
		rt.Fatalf("calculated %+v, written %+v and %+v", p.Division, now[original].Amounts, now[r.New.ID].Amounts)
	}
	return r.New.ID
}

// expectSums compares the sums of all divided amounts over all bills of the laboratory.
func expectSums(rt *rapid.T, start, now storetest.State) {
	sum := func(s storetest.State) (all bill.Amounts) {
		for _, b := range s.Bills {
			if b.LabID == 12 {
				all = all.Plus(b.Amounts)
			}
		}
		return all
	}
	if diff := cmp.Diff(sum(start), sum(now)); diff != "" {
		rt.Fatal(diff)
	}
	for id, r := range now.Reports {
		if now.Tests[r.TestID].BillID != r.BillID {
			rt.Fatal(fmt.Sprint("report ", id, " is not with its test"))
		}
	}
}
