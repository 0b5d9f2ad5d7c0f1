package split_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

const original = storetest.Original

func TestWhatIsCalculatedIsWritten(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, storetest.Worked())
	cases := storetest.NewCases(t, b.Store)
	for _, tests := range [][]int64{{103}, {102}} {
		before := storetest.Plain(b.Dump())
		p, err := cases.Calculate(t.Context(), cases.Request("", tests...))
		if err != nil || len(p.Failures) != 0 || p.Division == nil {
			t.Fatalf("%+v %v", p, err)
		}
		if diff := cmp.Diff(before, storetest.Plain(b.Dump())); diff != "" {
			t.Fatalf("a calculation wrote something: %s", diff)
		}
		r, err := cases.Split(t.Context(), "", tests...)
		if err != nil {
			t.Fatal(err)
		}
		after := b.Dump()
		if after.Bills[original].Amounts != p.Division.Parent || after.Bills[r.New.ID].Amounts != p.Division.New {
			t.Errorf("calculated %+v, written %+v and %+v", p.Division, after.Bills[original], after.Bills[r.New.ID])
		}
		if r.Original.Total != p.Division.Parent.Total || r.New.Total != p.Division.New.Total || r.New.LabBillID != after.Bills[r.New.ID].LabBillID {
			t.Errorf("answered %+v", r)
		}
	}
	expectHistory(t, b.Dump())
}

// expectHistory checks the two splits of TestWhatIsCalculatedIsWritten.
func expectHistory(t *testing.T, s storetest.State) {
	t.Helper()
	if len(s.Splits) != 2 || !slices.Equal(s.Splits[0].Moved, []int64{103, 104, 105}) || !slices.Equal(s.Splits[1].Moved, []int64{102}) {
		t.Fatalf("splits %+v", s.Splits)
	}
	first, second := s.Bills[s.Splits[0].NewID], s.Bills[s.Splits[1].NewID]
	if first.OrderNumber != "ORD-1~1" || second.OrderNumber != "ORD-1~2" || first.LabBillID != 302 || second.LabBillID != 303 {
		t.Errorf("%s %d, %s %d", first.OrderNumber, first.LabBillID, second.OrderNumber, second.LabBillID)
	}
	var texts []string
	for _, e := range s.Log {
		texts = append(texts, fmt.Sprint(e.Category, " ", e.Context, " ", e.BillID, " ", e.Actor.ID, " ", e.Text))
	}
	want := []string{
		fmt.Sprint("990 BILL_SPLIT ", original, " 77 Bill 301 was split: 3 tests moved to bill 302"),
		fmt.Sprint("990 BILL_SPLIT ", first.ID, " 77 Bill 302 was made by splitting bill 301"),
		fmt.Sprint("990 BILL_SPLIT ", original, " 77 Bill 301 was split: 1 tests moved to bill 303"),
		fmt.Sprint("990 BILL_SPLIT ", second.ID, " 77 Bill 303 was made by splitting bill 301"),
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

func TestARefusalWritesNothing(t *testing.T) {
	t.Parallel()
	state := storetest.Worked()
	state.Guards["crm_kit"] = []storetest.GuardRow{{BillID: original}}
	b := storetest.Open(t, state)
	cases := storetest.NewCases(t, b.Store)
	before := storetest.Plain(b.Dump())
	_, err := cases.Split(t.Context(), "key", 101, 7)
	refused := (*split.Refused)(nil)
	if !errors.As(err, &refused) || len(refused.Failures) != 2 || refused.Failures[0].Type != bill.TestsNotFound || refused.Failures[1].Message != "crm_kit" {
		t.Fatalf("%v", err)
	}
	failures, warnings, err := cases.Validate(t.Context(), cases.Request("", 101, 7))
	if err != nil || len(failures) != 1 || len(warnings) != 2 || warnings[0].Type != bill.RelationBlocked ||
		!warnings[0].Blocking || warnings[1].Type != bill.PatientPartMoved || warnings[1].Blocking {
		t.Fatalf("%+v %+v %v", failures, warnings, err)
	}
	if diff := cmp.Diff(before, storetest.Plain(b.Dump())); diff != "" {
		t.Error(diff)
	}
	if cases.Refusals.Load() != 1 || cases.Executions.Load() != 0 || cases.Changes.Load() != 0 {
		t.Errorf("%+v", cases.Counts)
	}
}

func TestARefusedRequestMayBeCorrectedUnderItsKey(t *testing.T) {
	t.Parallel()
	cases := storetest.NewCases(t, storetest.Open(t, storetest.Worked()).Store)
	if _, err := cases.Split(t.Context(), "key", 7); err == nil {
		t.Fatal("an unknown test was split off")
	}
	first, err := cases.Split(t.Context(), "key", 101, 102)
	if err != nil {
		t.Fatal(err)
	}
	again, err := cases.Split(t.Context(), "key", 102, 101)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" || cases.Replays.Load() != 1 || cases.Changes.Load() != 1 {
		t.Errorf("%s %+v", diff, cases.Counts)
	}
}

// TestEachTestMovesOnce uses sixteen callers who request two tests each, and others who pay and edit concurrently. Each
// test must move once.
func TestEachTestMovesOnce(t *testing.T) {
	t.Parallel()
	const tests, callers = 24, 16
	b := storetest.Open(t, crowded(tests))
	cases := storetest.NewCases(t, b.Store)
	var all sync.WaitGroup
	var mu sync.Mutex
	moved := map[int64]int{}
	for i := range callers {
		all.Go(func() {
			wanted := []int64{int64(1000 + i), int64(1000 + (i+1)%callers)} // each test is requested twice
			_, err := cases.Split(t.Context(), "", wanted...)
			if refused := (*split.Refused)(nil); errors.As(err, &refused) {
				return
			}
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
			mu.Lock()
			defer mu.Unlock()
			moved[wanted[0]]++
			moved[wanted[1]]++
		})
	}
	all.Wait()
	expectConserved(t, crowded(tests), b.Dump())
	for id, n := range moved {
		if n != 1 {
			t.Errorf("test %d was moved %d times", id, n)
		}
	}
	t.Logf("%d executions, %d refusals", cases.Executions.Load(), cases.Refusals.Load())
}

// crowded returns the original bill with many tests.
func crowded(tests int) storetest.State {
	s := storetest.Worked()
	clear(s.Tests)
	head := s.Bills[original]
	head.Amounts = bill.Amounts{VAT: 1801, VATPercent: 180_000, TDS: 333, Additional: 777}
	for i := range int64(tests) {
		row := bill.Row{ID: 1000 + i, LabID: 12, Amount: bill.Paise(1000 + 37*i), CoPay: bill.Paise(i)}
		s.Tests[row.ID] = storetest.Test{Row: row, BillID: original}
		s.Reports[row.ID] = storetest.Report{LabID: 12, BillID: original, TestID: row.ID}
		head.Amounts.Total += row.Amount
		head.Amounts.CoPay += row.CoPay
	}
	head.Amounts.Total += 777 - 333 + 1801
	head.Amounts.PatientPayable = head.Amounts.CoPay
	s.Bills[original] = head
	return s
}

// expectConserved compares the sums of all bills of laboratory 12 before and after. It also checks that bill numbers
// are unique and without gaps, that the price of each bill is that of its tests, and that each report is on the bill of
// its test.
func expectConserved(t *testing.T, before, after storetest.State) {
	t.Helper()
	total := func(s storetest.State) (sum bill.Amounts) {
		for _, b := range s.Bills {
			if b.LabID == 12 {
				sum = sum.Plus(b.Amounts)
			}
		}
		return sum
	}
	if diff := cmp.Diff(total(before), total(after)); diff != "" {
		t.Errorf("the sums differ: %s", diff)
	}
	numbers, orders := map[int64]bool{}, map[string]bool{}
	for id, b := range after.Bills {
		if b.LabID != 12 {
			continue
		}
		if numbers[b.LabBillID] || orders[b.OrderNumber] {
			t.Errorf("bill %d has number %d and order %s of another", id, b.LabBillID, b.OrderNumber)
		}
		numbers[b.LabBillID], orders[b.OrderNumber] = true, true
		var rows []bill.Row
		for _, test := range after.Tests {
			if test.BillID == id {
				rows = append(rows, test.Row)
			}
		}
		if price(rows) != b.Amounts.Base() {
			t.Errorf("bill %d is not the sum of its %d tests", id, len(rows))
		}
	}
	for n := int64(302); n <= after.Counters[12]; n++ {
		if !numbers[n] {
			t.Errorf("bill number %d is missing", n)
		}
	}
	for _, r := range after.Reports {
		if r.LabID == 12 && after.Tests[r.TestID].BillID != r.BillID && after.Tests[r.TestID].ID != 0 {
			t.Errorf("the report of test %d is on bill %d", r.TestID, r.BillID)
		}
	}
}

func price(rows []bill.Row) (p bill.Paise) {
	for _, row := range rows {
		p += row.Amount - row.Concession
	}
	return p
}

func TestOneKeyMakesOneBill(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, storetest.Worked())
	cases := storetest.NewCases(t, b.Store)
	results := make([]split.Result, 16)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			var err error
			if results[i], err = cases.Split(t.Context(), "double-click", 103); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, r := range results {
		if diff := cmp.Diff(results[0], r); diff != "" {
			t.Error(diff)
		}
	}
	if len(b.Dump().Splits) != 1 || cases.Executions.Load() != 1 || cases.Replays.Load() != 15 {
		t.Errorf("%d splits, %+v", len(b.Dump().Splits), cases.Counts)
	}
}

// TestADeathLeavesTheBillWholeOrSplit aborts a split before each of its statements. The caller then repeats the request
// with its key. The bill must be either unchanged or split.
func TestADeathLeavesTheBillWholeOrSplit(t *testing.T) {
	t.Parallel()
	state := storetest.Worked()
	state.Attachments[1] = storetest.Attachment{BillID: original, Category: "smart_report", Active: true}
	b := storetest.Open(t, state)
	open := func() string {
		b.Reset(state)
		return b.DSN
	}
	split := func(db *sql.DB) error {
		_, err := storetest.NewCases(t, storetest.Store(t, db)).Split(t.Context(), "key", 103)
		return err
	}
	crashes := crashdb.Each(t, open, split, func(c crashdb.Crash, _ error) {
		left := b.Dump()
		if c.AnswerLost != (len(left.Splits) == 1) {
			t.Fatalf("the process %s: splits %+v, want one: %v", c, left.Splits, c.AnswerLost)
		}
		if diff := cmp.Diff(storetest.Plain(state), storetest.Plain(left)); !c.AnswerLost && diff != "" {
			t.Fatalf("the process %s and left (-want +got): %s", c, diff)
		}
		again := storetest.NewCases(t, b.Store)
		r, err := again.Split(t.Context(), "key", 103)
		if err != nil || (again.Replays.Load() == 1) != c.AnswerLost {
			t.Fatalf("the process %s; the request again: %+v, %v, replayed %d times", c, r, err, again.Replays.Load())
		}
		expectConserved(t, state, b.Dump())
	})
	if len(crashes) < 14 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}

func TestTheLaboratorysSwitch(t *testing.T) {
	t.Parallel()
	state := storetest.Worked()
	state.SwitchedOff[12] = true
	b := storetest.Open(t, state)
	cases := storetest.NewCases(t, b.Store)
	if _, err := cases.Calculate(t.Context(), cases.Request("", 101)); err != nil {
		t.Fatalf("the switch is not asked for: %v", err)
	}
	strict := split.New(split.Deps{Store: b.Store, After: cases.Counts, Clock: steady{}, Observer: cases.Counts, Rules: split.Rules{VATPercent: bill.Carry, RequireLabSwitch: true}})
	if _, _, err := strict.Validate(t.Context(), cases.Request("", 101)); !errors.Is(err, split.ErrSwitchedOff) {
		t.Errorf("validate: %v", err)
	}
	if _, err := strict.Execute(t.Context(), cases.Request("", 101)); !errors.Is(err, split.ErrSwitchedOff) || apperr.KindOf(err) != apperr.Forbidden {
		t.Errorf("execute: %v", err)
	}
}
