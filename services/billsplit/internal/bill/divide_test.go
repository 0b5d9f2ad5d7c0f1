package bill_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// drawn is a random bill.
type drawn struct {
	head bill.Amounts
	rows []bill.Row
}

// fields returns the amounts of a bill by their documented names.
func fields(a bill.Amounts) map[string]bill.Paise {
	return map[string]bill.Paise{
		"vat": a.VAT, "TDSAmount": a.TDS, "billAdvance": a.Advance, "co_pay_amount": a.CoPay, "billConcession": a.Concession,
		"billTotalAmount": a.Total, "deductible_amount": a.Deductible, "billAdditionalAmount": a.Additional,
		"patientPayableAmount": a.PatientPayable,
	}
}

// owned are the amounts that a test may have as well.
var owned = map[string]func(bill.Row) bill.Paise{
	"co_pay_amount":        func(r bill.Row) bill.Paise { return r.CoPay },
	"deductible_amount":    func(r bill.Row) bill.Paise { return r.Deductible },
	"patientPayableAmount": func(r bill.Row) bill.Paise { return r.PatientPayable },
	"billConcession":       func(r bill.Row) bill.Paise { return r.Concession },
}

func sum(rows []bill.Row, of func(bill.Row) bill.Paise) (total bill.Paise) {
	for _, row := range rows {
		if row.Counts() {
			total += of(row)
		}
	}
	return total
}

func net(r bill.Row) bill.Paise { return r.Amount - r.Concession }

// eachBill generates bills: 100,000 with a fixed seed; in the long run, a million with a new seed.
func eachBill(t *testing.T, check func(t *testing.T, n int, random *rand.Rand)) {
	t.Helper()
	count, random := 100_000, rand.New(rand.NewPCG(20261120, 12))
	if engine.Setting("LAB_LONG_TESTS") == "1" {
		seed := rand.Uint64()
		count, random = 1_000_000, rand.New(rand.NewPCG(seed, 12))
		t.Logf("%d bills of seed %d", count, seed)
	}
	for n := range count {
		check(t, n, random)
		if t.Failed() {
			return
		}
	}
}

// TestEveryAmountAddsUp splits a random bill twice and undoes both splits. At each step, both bills together have the
// amounts of the previous one, for every amount of the bill and its tests.
func TestEveryAmountAddsUp(t *testing.T) {
	t.Parallel()
	eachBill(t, func(t *testing.T, n int, random *rand.Rand) {
		t.Helper()
		d := randomBill(random)
		first, left := d.splitSome(t, n, random)
		second, _ := left.splitSome(t, n, random)
		undone := second.Parent.Plus(second.New)
		if undone.VATPercent = left.head.VATPercent; undone != left.head {
			t.Errorf("bill %d: the second split undone is %+v, want %+v", n, undone, left.head)
		}
		undone = first.Parent.Plus(first.New)
		if undone.VATPercent = d.head.VATPercent; undone != d.head {
			t.Errorf("bill %d: both splits undone are %+v, want %+v", n, undone, d.head)
		}
	})
}

// splitSome moves random tests and compares the two bills with the original. It returns the remaining bill.
func (d drawn) splitSome(t *testing.T, n int, random *rand.Rand) (bill.Division, drawn) {
	t.Helper()
	var ids []int64
	for _, row := range d.rows {
		if random.IntN(2) == 0 {
			ids = append(ids, row.ID)
		}
	}
	moved := bill.Select(d.rows, ids).Moved
	got := bill.Divide(d.head, d.rows, moved, bill.Carry)
	left := drawn{got.Parent, slices.DeleteFunc(slices.Clone(d.rows), func(r bill.Row) bool { return slices.Contains(moved, r) })}
	if len(left.rows)+len(moved) != len(d.rows) {
		t.Errorf("bill %d: %d tests of %d", n, len(left.rows)+len(moved), len(d.rows))
	}
	before, parent, made := fields(d.head), fields(got.Parent), fields(got.New)
	for name, whole := range before {
		p, m := parent[name], made[name]
		noted := slices.ContainsFunc(got.Notes, func(f bill.Failure) bool { return strings.HasPrefix(f.Message, name+":") })
		switch of := owned[name]; {
		case p+m != whole:
			t.Errorf("bill %d: %s is %d and %d, want a sum of %d", n, name, p, m, whole)
		case whole >= 0 && (p < 0 || m < 0) && (d.head.Total >= 0 || name != "billTotalAmount"):
			t.Errorf("bill %d: %s was %d and is %d and %d, want neither below 0", n, name, whole, p, m)
		case of != nil && sum(d.rows, of) == whole && m != sum(moved, of) && !noted:
			t.Errorf("bill %d: %s of the tests is %d, and %d moved without a warning", n, name, sum(moved, of), m)
		}
	}
	d.comparePatientParts(t, n, got)
	if t.Failed() {
		t.Logf("%+v\ntests %+v\nmoved %v\n%+v", d.head, d.rows, ids, got)
	}
	return got, left
}

// comparePatientParts checks that no patient's part exceeds the total of its bill, unless it did on the original.
func (d drawn) comparePatientParts(t *testing.T, n int, got bill.Division) {
	t.Helper()
	for name := range owned {
		if name == "billConcession" {
			continue
		}
		whole, parent, made := fields(d.head)[name], fields(got.Parent)[name], fields(got.New)[name]
		if whole >= 0 && whole <= d.head.Total && (parent > got.Parent.Total || made > got.New.Total) {
			t.Errorf("bill %d: %s of %d and %d is more than the totals %d and %d", n, name, parent, made, got.Parent.Total, got.New.Total)
		}
	}
	moved := got.New.CoPay != 0 || got.New.Deductible != 0 || got.New.PatientPayable != 0
	if said := slices.ContainsFunc(got.Notes, func(f bill.Failure) bool { return f.Type == bill.PatientPartMoved }); said != moved {
		t.Errorf("bill %d: a patient's part moved: %v, and a warning reports it: %v", n, moved, said)
	}
}

// randomBill returns a bill with tests of every kind. Its amounts are the sums of the tests, or differ from them in any
// amount.
func randomBill(random *rand.Rand) drawn {
	limit := []int64{4, 50, 100_000, 10_000_000_000}[random.IntN(4)]
	some := func() bill.Paise { return bill.Paise(random.Int64N(limit)) }
	sometimes := func(p bill.Paise) bill.Paise { return p * bill.Paise(random.IntN(2)) }
	var d drawn
	for i := range 1 + random.IntN(6) {
		row := bill.Row{ID: int64(i + 1), Amount: some()}
		row.CoPay, row.Deductible, row.PatientPayable = sometimes(some()/8), sometimes(some()/8), sometimes(some()/8)
		switch random.IntN(12) {
		case 0:
			row.Concession = row.Amount
		case 1:
			row.Amount, row.CoPay = -row.Amount, -row.CoPay
		case 2, 3:
			row.Concession = row.Amount / 3
		case 4:
			row.Dismissed = true
		case 5:
			row.Refunded = true
		case 6:
			row.ProfileID = int64(1 + random.IntN(i+1))
		case 7:
			row.Amount, row.Concession = 0, 0
		}
		d.rows = append(d.rows, row)
	}
	d.head = headOf(d.rows, random.IntN(3) == 0)
	charge(&d.head, random, some)
	if random.IntN(2) == 0 {
		disturb(&d.head, random, some)
	}
	return d
}

// headOf returns the sums of the tests; after a refund, without the refunded ones.
func headOf(rows []bill.Row, refunded bool) bill.Amounts {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r bill.Row) bool { return refunded && r.Refunded })
	return bill.Amounts{
		Total: sum(rows, net), Concession: sum(rows, owned["billConcession"]), CoPay: sum(rows, owned["co_pay_amount"]),
		Deductible: sum(rows, owned["deductible_amount"]), PatientPayable: sum(rows, owned["patientPayableAmount"]),
	}
}

// charge adds tax, deduction and charges to a bill.
func charge(head *bill.Amounts, random *rand.Rand, some func() bill.Paise) {
	head.VAT, head.TDS, head.Additional = some(), some(), some()
	if random.IntN(4) == 0 {
		head.Additional = -head.Additional
	}
	switch random.IntN(6) {
	case 0: // nothing is left to pay
		head.TDS = max(0, head.Total+head.Additional+head.VAT)
	case 1: // the deduction exceeds the total
		head.TDS = max(0, head.Total+head.Additional+head.VAT) + some()
	}
	head.Total += head.Additional - head.TDS + head.VAT
	head.VATPercent = bill.Percent([]int64{0, 50_000, 180_000}[random.IntN(3)])
}

// disturb changes one or more amounts of the bill, as a discount or a deductible of the policy does, or as in old data.
func disturb(head *bill.Amounts, random *rand.Rand, some func() bill.Paise) {
	for range 1 + random.IntN(3) {
		switch random.IntN(7) {
		case 0:
			discount := min(some(), max(head.Total, 0))
			head.Concession += discount
			head.Total -= discount
		case 1:
			head.Concession = some() - some()/2
		case 2:
			more, less := some(), some()
			head.Total += more - less
		case 3:
			head.CoPay = some()
		case 4:
			head.Deductible = min(some(), max(head.Total, 0))
		case 5:
			head.PatientPayable = min(some(), max(head.Total, 0))
		case 6:
			more, less := some(), some()
			head.PatientPayable = more - less
		}
	}
}

func TestTheOrderOfTestsDecidesNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(20261120, 13))
	for range 10_000 {
		d := randomBill(random)
		ids := bill.IDs(d.rows)[random.IntN(len(d.rows)):]
		want := bill.Select(d.rows, ids)
		division := bill.Divide(d.head, d.rows, want.Moved, bill.Carry)
		random.Shuffle(len(d.rows), func(i, j int) { d.rows[i], d.rows[j] = d.rows[j], d.rows[i] })
		random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		got := bill.Select(d.rows, ids)
		again := bill.Divide(d.head, d.rows, got.Moved, bill.Carry)
		if !slices.Equal(bill.IDs(want.Moved), bill.IDs(got.Moved)) || want.Stays != got.Stays || !slices.Equal(want.Alone, got.Alone) ||
			division.New != again.New || division.Parent != again.Parent {
			t.Fatalf("%+v of %+v and %+v of %+v, want equal ones", division, want, again, got)
		}
	}
}
