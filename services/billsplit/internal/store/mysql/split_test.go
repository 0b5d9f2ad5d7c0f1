package mysql_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

const original, theirs = storetest.Original, storetest.Theirs

var errBroken = errors.New("broken")

// fixture is the database of a test.
type fixture struct {
	*testing.T
	storetest.Database
}

func open(t *testing.T, s storetest.State) fixture {
	t.Helper()
	return fixture{t, storetest.Open(t, s)}
}

// facts returns the facts of a request, read without locks.
func (f fixture) facts(lab, billID int64, tests ...int64) split.Facts {
	f.Helper()
	facts, err := f.View(f.Context(), split.Request{Lab: storetest.Lab(f.T, lab), BillID: billID, Tests: tests})
	if err != nil {
		f.Fatal(err)
	}
	return facts
}

// split applies the decision of decide about the tests of the original bill.
func (f fixture) split(decide func(split.Facts) (split.Decision, error), tests ...int64) error {
	f.Helper()
	r := split.Request{Lab: storetest.Lab(f.T, 12), BillID: original, Tests: tests}
	_, _, err := f.Split(f.Context(), r, idempotency.Request{}, decide)
	return err
}

var splitAt = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

// moving returns a decision that moves tests of the original bill to a new bill.
func moving(number int64, tests ...int64) split.Decision {
	return split.Decision{Draft: split.Draft{LabBillID: number, BilledAt: splitAt},
		Record: split.Record{ParentID: original, Moved: append([]int64{}, tests...)}}
}

func (f fixture) mustMove(number int64, tests ...int64) {
	f.Helper()
	if err := f.split(func(split.Facts) (split.Decision, error) { return moving(number, tests...), nil }); err != nil {
		f.Fatal(err)
	}
}

func TestABillIsOnlyItsLaboratorys(t *testing.T) {
	t.Parallel()
	state := storetest.Worked()
	state.SwitchedOff[13] = true
	f := open(t, state)
	for _, id := range []int64{theirs, 1} {
		if facts := f.facts(12, id); facts.Bill != nil || len(facts.Rows) != 0 {
			t.Errorf("bill %d: %+v, want none", id, facts)
		}
	}
	facts := f.facts(12, original)
	want := state.Bills[original].Bill
	want.BilledAt = storetest.BilledAt
	if diff := cmp.Diff(want, *facts.Bill); diff != "" {
		t.Errorf("the bill (-want +got): %s", diff)
	}
	if ids := bill.IDs(facts.Rows); !slices.Equal(ids, []int64{101, 102, 103, 104, 105}) {
		t.Errorf("tests %v, want 101 to 105", ids)
	}
	if diff := cmp.Diff(state.Tests[102].Row, facts.Rows[1]); diff != "" {
		t.Errorf("test 102 (-want +got): %s", diff)
	}
	for lab, enabled := range map[int64]bool{12: true, 13: false} {
		if got := f.facts(lab, original).Enabled; got != enabled {
			t.Errorf("laboratory %d splits bills: %v, want %v", lab, got, enabled)
		}
	}
}

func TestEveryGuardedTableIsSeen(t *testing.T) {
	t.Parallel()
	state := storetest.Worked()
	for i, g := range bill.Guards() {
		id := int64(50_000 + i)
		state.Bills[id] = storetest.Bill{LabID: 12, Bill: bill.Bill{ID: id, LabBillID: id}}
		state.Guards[g.Table] = []storetest.GuardRow{{BillID: id}}
		if g.PerRow {
			state.Guards[g.Table] = append(state.Guards[g.Table], storetest.GuardRow{BillID: 1, TestID: 103})
		}
	}
	f := open(t, state)
	for i, g := range bill.Guards() {
		if got := f.facts(12, int64(50_000+i)).Around.Guarded; !slices.Equal(got, []string{g.Table}) {
			t.Errorf("a row in %s: guarded by %v, want that table", g.Table, got)
		}
	}
	if got := f.facts(12, original, 101, 102).Around.Guarded; len(got) != 0 {
		t.Errorf("tests 101 and 102 are guarded by %v, want none", got)
	}
	want := []string{"finance_claim_test_relation", "integration_test_clinical_info"}
	if got := f.facts(12, original, 101, 103).Around.Guarded; !slices.Equal(got, want) {
		t.Errorf("test 103 is guarded by %v, want %v", got, want)
	}
}

func TestSmartReportsAreRetiredAndRestored(t *testing.T) {
	t.Parallel()
	state := storetest.Worked()
	for i, category := range []string{"smart_report", "image", "document", "smart_report", "smart_report"} {
		state.Attachments[int64(i+1)] = storetest.Attachment{BillID: original, Category: category, Active: i != 3}
	}
	state.Attachments[9] = storetest.Attachment{BillID: theirs, Category: "smart_report", Active: true}
	f := open(t, state)
	err := f.split(func(facts split.Facts) (split.Decision, error) {
		slices.Sort(facts.Around.Attachments)
		if want := []string{"document", "image", "smart_report"}; !slices.Equal(facts.Around.Attachments, want) {
			t.Errorf("attachments %v, want %v", facts.Around.Attachments, want)
		}
		if !slices.Equal(facts.SmartReports, []int64{1, 5}) {
			t.Errorf("smart reports %v, want the active ones, 1 and 5", facts.SmartReports)
		}
		d := moving(400, 101)
		d.Record.SmartReports = facts.SmartReports
		return d, nil
	}, 101)
	if err != nil {
		t.Fatal(err)
	}
	after := f.Dump()
	if after.Attachments[1].Active || after.Attachments[5].Active || !after.Attachments[2].Active || !after.Attachments[9].Active {
		t.Errorf("attachments %v, want 1 and 5 inactive", after.Attachments)
	}
	f.mustMerge(after.Splits[0].NewID, nil)
	if diff := cmp.Diff(state.Attachments, f.Dump().Attachments); diff != "" {
		t.Errorf("restored attachments (-want +got): %s", diff)
	}
}

func TestAnErrorChangesNothing(t *testing.T) {
	t.Parallel()
	f := open(t, storetest.Worked())
	refuse := func(split.Facts) (split.Decision, error) { return moving(302, 101), errBroken }
	if err := f.split(refuse, 101); !errors.Is(err, errBroken) {
		t.Fatalf("the decision fails: %v, want its error", err)
	}
	elsewhere := func(split.Facts) (split.Decision, error) { return moving(302, 101, 201), nil }
	if err := f.split(elsewhere, 101); err == nil {
		t.Error("test 201, which is on another bill, moved; want an error")
	}
	if diff := cmp.Diff(storetest.Plain(storetest.Worked()), storetest.Plain(f.Dump())); diff != "" {
		t.Errorf("what the errors left (-want +got): %s", diff)
	}
}

func TestAKeyAnswersAgain(t *testing.T) {
	t.Parallel()
	f := open(t, storetest.Worked())
	decided := 0
	once := func(lab, billID int64, key, body string, fail error) (answer string, replayed bool, err error) {
		r := split.Request{Lab: storetest.Lab(t, lab), BillID: billID}
		text, replayed, err := f.Split(t.Context(), r, idempotency.Request{Key: key, Operation: "o", Body: []byte(body)},
			func(facts split.Facts) (split.Decision, error) {
				decided++
				d := moving(facts.NextNumber)
				d.Record.ParentID = billID
				return d, fail
			})
		return string(text), replayed, err
	}
	if _, _, err := once(12, original, "k", "a", errBroken); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	first, replayed, err := once(12, original, "k", "a", nil)
	if err != nil || replayed || decided != 2 {
		t.Fatalf("after a failure: replayed %v, decided %d times, %v; want a second decision", replayed, decided, err)
	}
	if again, replayed, err := once(12, original, "k", "a", nil); err != nil || !replayed || again != first || decided != 2 {
		t.Errorf("the request again: %q, replayed %v, %v; want %q again", again, replayed, err, first)
	}
	if _, _, err := once(12, original, "k", "b", nil); !errors.Is(err, idempotency.ErrKeyReused) {
		t.Errorf("another request: %v, want ErrKeyReused", err)
	}
	if _, replayed, err := once(13, theirs, "k", "b", nil); err != nil || replayed || decided != 3 {
		t.Errorf("another laboratory: replayed %v, %v; want a decision of its own", replayed, err)
	}
	if _, replayed, err := once(12, original, "", "a", nil); err != nil || replayed || decided != 4 {
		t.Errorf("without a key: replayed %v, %v; want a decision of its own", replayed, err)
	}
}

func TestANewBillIsLikeItsOriginal(t *testing.T) {
	t.Parallel()
	state := storetest.Worked()
	head := state.Bills[original]
	head.State.Invoiced = true
	state.Bills[original] = head
	f := open(t, state)
	d := moving(400)
	d.Draft = split.Draft{LabBillID: 400, BilledAt: splitAt, OrderNumber: "ORD-1~1", Source: bill.SelfPay, Amounts: bill.Amounts{
		VAT: 1, VATPercent: 2, TDS: 3, Advance: 4, CoPay: 5, Concession: 6, Total: -7, Deductible: 8, Additional: 9,
		PatientPayable: 10}}
	for _, want := range [][]string{nil, {"ORD-1~1"}} { // without ORD-1~7 of another laboratory
		err := f.split(func(facts split.Facts) (split.Decision, error) {
			if !slices.Equal(facts.OrderNumbers, want) {
				t.Errorf("order numbers %v, want %v", facts.OrderNumbers, want)
			}
			d.Draft.LabBillID++
			return d, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	after := f.Dump()
	id := after.Splits[0].NewID
	want := storetest.Bill{LabID: 12, Bill: bill.Bill{ID: id, LabBillID: 401, OrderNumber: "ORD-1~1", Source: "Self Pay",
		PatientID: storetest.Patient, OrgID: 45, Amounts: d.Draft.Amounts}}
	if diff := cmp.Diff(want, after.Bills[id]); diff != "" {
		t.Errorf("the new bill (-want +got): %s", diff)
	}
	members, err := f.Family(t.Context(), storetest.Lab(t, 12), id)
	if err != nil || !members[0].Bill.BilledAt.Equal(storetest.BilledAt) || !members[1].Bill.BilledAt.Equal(splitAt) {
		t.Errorf("bills of %+v, %v; want the original of %s and a new one of %s", members, err, storetest.BilledAt, splitAt)
	}
}

func TestTestsMoveWithTheirReports(t *testing.T) {
	t.Parallel()
	f := open(t, storetest.Worked())
	f.mustMove(400, 103, 104)
	after := f.Dump()
	newID := after.Splits[0].NewID
	for id, want := range map[int64]int64{101: original, 103: newID, 104: newID, 105: original} {
		if after.Tests[id].BillID != want || after.Reports[id+7000].BillID != want {
			t.Errorf("test %d is on bill %d and its report on %d, want both on %d", id, after.Tests[id].BillID,
				after.Reports[id+7000].BillID, want)
		}
	}
}

// TestNumbersHaveNoGaps runs eight transactions on different bills. Every second one fails, so that its number is used
// again.
func TestNumbersHaveNoGaps(t *testing.T) {
	t.Parallel()
	const takers = 8
	state := storetest.Worked()
	state.Counters[13] = 2000
	for i := range int64(takers) {
		state.Bills[100+i] = storetest.Bill{LabID: 12, Bill: bill.Bill{ID: 100 + i, LabBillID: 100 + i}}
	}
	f := open(t, state)
	var all sync.WaitGroup
	got := make(chan int64, takers)
	lab := storetest.Lab(t, 12)
	for i := range int64(takers) {
		all.Go(func() {
			var number int64
			r := split.Request{Lab: lab, BillID: 100 + i}
			_, _, err := f.Split(t.Context(), r, idempotency.Request{}, func(facts split.Facts) (split.Decision, error) {
				number = facts.NextNumber
				d := moving(number)
				d.Record.ParentID = 100 + i
				if i%2 == 0 {
					return d, errBroken
				}
				return d, nil
			})
			if err == nil {
				got <- number
			}
		})
	}
	all.Wait()
	close(got)
	var numbers []int64
	for n := range got {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	if counter := f.Dump().Counters[12]; !slices.Equal(numbers, []int64{302, 303, 304, 305}) || counter != 305 {
		t.Errorf("numbers %v and counter %d, want 302 to 305", numbers, counter)
	}
	_, _, err := f.Split(t.Context(), split.Request{Lab: storetest.Lab(t, 13), BillID: theirs}, idempotency.Request{},
		func(facts split.Facts) (split.Decision, error) {
			if facts.NextNumber != 2001 {
				t.Errorf("the next number of a counter that is ahead is %d, want 2001", facts.NextNumber)
			}
			return split.Decision{}, errBroken
		})
	if !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
}
