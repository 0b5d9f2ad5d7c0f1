package bill_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// amounts that bills have: small ones, where rounding shows, round ones, and the largest that the columns hold.
func amount(t *rapid.T, name string) bill.Paise {
	return bill.Paise(rapid.OneOf(
		rapid.Int64Range(0, 12), rapid.Int64Range(0, 100_000), rapid.Int64Range(0, 1000), rapid.Just(int64(99_999_999_999)),
	).Draw(t, name))
}

// drawn is a random bill with a random choice of its tests.
type drawn struct {
	head   bill.Amounts
	rows   []bill.Row
	chosen []int64
	agrees bool // the head is the sum of the tests
}

func draw(t *rapid.T) drawn {
	var d drawn
	count := rapid.IntRange(1, 8).Draw(t, "tests")
	credit := rapid.Bool().Draw(t, "credit lines")
	for i := range count {
		row := bill.Row{ID: int64(i + 1), Amount: amount(t, "amount"), CoPay: amount(t, "co-pay") / 10, Deductible: amount(t, "deductible") / 10}
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			row.Concession = row.Amount
		case 1:
			row.Concession = row.Amount / 3
		case 2:
			row.Dismissed = true
		case 3:
			if i > 0 {
				row.ProfileID = int64(rapid.IntRange(1, i).Draw(t, "profile"))
			}
		case 4:
			if credit {
				row.Amount = -row.Amount
			}
		}
		d.rows = append(d.rows, row)
		if rapid.Bool().Draw(t, "chosen") {
			d.chosen = append(d.chosen, row.ID)
		}
	}
	d.head = headOf(d.rows)
	d.head.VAT, d.head.TDS, d.head.Additional = amount(t, "vat"), amount(t, "tds"), amount(t, "additional")
	if rapid.IntRange(0, 3).Draw(t, "rounding column") == 0 {
		d.head.Additional = -d.head.Additional % 100
	}
	d.head.Total += d.head.Additional - d.head.TDS + d.head.VAT
	d.head.VATPercent = bill.Percent(rapid.SampledFrom([]int64{0, 50_000, 180_000}).Draw(t, "rate"))
	if d.agrees = rapid.IntRange(0, 2).Draw(t, "old data") > 0; !d.agrees {
		d.head.Total += amount(t, "more") - amount(t, "less")
		d.head.CoPay, d.head.Concession = amount(t, "head's co-pay"), amount(t, "head's concession")
	}
	return d
}

func headOf(rows []bill.Row) bill.Amounts {
	var a bill.Amounts
	for _, row := range rows {
		if row.Counts() {
			a.Total += row.Amount - row.Concession
			a.Concession += row.Concession
			a.CoPay += row.CoPay
			a.Deductible += row.Deductible
		}
	}
	a.PatientPayable = a.CoPay + a.Deductible
	return a
}

// fields are the amounts of a bill.
func fields(a bill.Amounts) []bill.Paise {
	return []bill.Paise{a.VAT, a.TDS, a.Advance, a.CoPay, a.Concession, a.Total, a.Deductible, a.Additional, a.PatientPayable}
}

func TestNoPaisaAppearsOrDisappears(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		d := draw(t)
		s := bill.Select(d.rows, d.chosen)
		got := bill.Divide(d.head, s.Moved, bill.Carry)
		p, n, h := got.Parent, got.New, d.head
		if p.VAT+n.VAT != h.VAT || p.TDS+n.TDS != h.TDS || p.Additional+n.Additional != h.Additional ||
			p.Concession+n.Concession != h.Concession || p.Total+n.Total != h.Total || p.Advance+n.Advance != h.Advance {
			t.Fatalf("%+v\n= %+v\n+ %+v", h, p, n)
		}
		if n.CoPay != 0 || n.Deductible != 0 || n.PatientPayable != 0 || n.Advance != 0 {
			t.Fatalf("the new bill is no insurance's: %+v", n)
		}
		if p.PatientPayable != p.CoPay+p.Deductible || p.Base() != h.Base()-n.Base() {
			t.Fatalf("%+v does not hold together", p)
		}
		before := fields(h)
		for i, after := range fields(p) {
			if before[i] >= 0 && after < 0 {
				t.Fatalf("field %d was %d and is %d", i, before[i], after)
			}
		}
		for i, made := range fields(n) {
			if before[i] >= 0 && made < 0 {
				t.Fatalf("field %d of the new bill is %d", i, made)
			}
		}
		if d.agrees && h.CoPay != p.CoPay+sum(s.Moved, func(r bill.Row) bill.Paise { return r.CoPay }) {
			t.Fatalf("co-pay %d of %d", p.CoPay, h.CoPay)
		}
	})
}

func sum(rows []bill.Row, of func(bill.Row) bill.Paise) (total bill.Paise) {
	for _, row := range rows {
		if row.Counts() {
			total += of(row)
		}
	}
	return total
}

func TestTheOrderOfTestsDecidesNothing(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		d := draw(t)
		want := bill.Select(d.rows, d.chosen)
		rows := rapid.Permutation(d.rows).Draw(t, "rows")
		got := bill.Select(rows, rapid.Permutation(d.chosen).Draw(t, "ids"))
		if !slices.Equal(bill.IDs(want.Moved), bill.IDs(got.Moved)) || want.Stays != got.Stays || !slices.Equal(want.Alone, got.Alone) {
			t.Fatalf("%+v and %+v", want, got)
		}
		if bill.Divide(d.head, want.Moved, bill.Carry) != bill.Divide(d.head, got.Moved, bill.Carry) {
			t.Fatal("the amounts differ")
		}
	})
}

// TestManySplitsInAnyOrderAddUp takes every test but one off a bill, one after the other.
func TestManySplitsInAnyOrderAddUp(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		d := draw(t)
		all := bill.Amounts{}
		left := d.head
		for _, row := range rapid.Permutation(d.rows).Draw(t, "order")[1:] {
			got := bill.Divide(left, []bill.Row{row}, bill.Carry)
			all, left = all.Plus(got.New), got.Parent
		}
		all = all.Plus(left)
		if all.Total != d.head.Total || all.VAT != d.head.VAT || all.TDS != d.head.TDS || all.Additional != d.head.Additional || all.Concession != d.head.Concession {
			t.Fatalf("%+v of %+v", all, d.head)
		}
	})
}

// divideAgain is the documented rule once more, on fractions instead of whole paise, for bills that agree with their
// tests. It follows the text and shares no code with Divide.
func divideAgain(head bill.Amounts, rows []bill.Row) (total, vat, tds, additional bill.Paise) {
	rat := func(p bill.Paise) *big.Rat { return big.NewRat(int64(p), 1) }
	selected := rat(sum(rows, func(r bill.Row) bill.Paise { return r.Amount - r.Concession }))
	whole := new(big.Rat).Sub(rat(head.Total+head.TDS), rat(head.Additional+head.VAT))
	if selected.Sign() < 0 {
		selected = new(big.Rat)
	}
	if whole.Sign() <= 0 {
		return 0, 0, 0, 0
	}
	if selected.Cmp(whole) > 0 {
		selected = whole
	}
	part := new(big.Rat).Quo(selected, whole)
	vat, tds, additional = nearest(part, head.VAT), nearest(part, head.TDS), nearest(part, head.Additional)
	base := bill.Paise(selected.Num().Int64())
	// A total of rounded parts may leave the range from 0 to the original's by a paisa: then the first of deduction,
	// charges and tax that was rounded up where down was needed, or the other way, is rounded the other way.
	for total = base + additional - tds + vat; head.Total >= 0 && (total < 0 || total > head.Total); total = base + additional - tds + vat {
		raise := total < 0
		switch {
		case canMove(part, head.TDS, tds, !raise):
			tds += step(!raise)
		case canMove(part, head.Additional, additional, raise):
			additional += step(raise)
		default:
			vat += step(raise)
		}
	}
	return total, vat, tds, additional
}

func step(up bool) bill.Paise {
	if up {
		return 1
	}
	return -1
}

// canMove reports whether the share stays within a paisa of the exact one.
func canMove(part *big.Rat, of, share bill.Paise, up bool) bool {
	exact := new(big.Rat).Mul(part, big.NewRat(int64(of), 1))
	off := exact.Sub(exact, big.NewRat(int64(share+step(up)), 1))
	return off.Abs(off).Cmp(big.NewRat(1, 1)) < 0
}

// nearest is the share of p to the nearest paisa, halves away from zero.
func nearest(part *big.Rat, p bill.Paise) bill.Paise {
	exact := new(big.Rat).Mul(part, big.NewRat(int64(p), 1))
	text := exact.FloatString(0) // rounds halves away from zero
	n, _ := new(big.Int).SetString(text, 10)
	return bill.Paise(n.Int64())
}

// TestASecondImplementationAgrees compares the two on random bills, a million of them in the long run.
func TestASecondImplementationAgrees(t *testing.T) {
	t.Parallel()
	count, random := 100_000, rand.New(rand.NewPCG(20261120, 12))
	if engine.Setting("LAB_LONG_TESTS") == "1" {
		count, random = 1_000_000, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	settled := 0
	for i := range count {
		head, moved := randomBill(random)
		got := bill.Divide(head, moved, bill.Carry)
		total, vat, tds, additional := divideAgain(head, moved)
		if got.New.Total != total || got.New.VAT != vat || got.New.TDS != tds || got.New.Additional != additional {
			t.Fatalf("bill %d: %+v, tests %+v: %+v, and again total %d vat %d tds %d additional %d", i, head, moved, got.New, total, vat, tds, additional)
		}
		if head.Total >= 0 && (got.New.Total == 0 || got.Parent.Total == 0) {
			settled++
		}
	}
	t.Logf("%d bills agree; %d had a total of zero on one side", count, settled)
}

func randomBill(random *rand.Rand) (bill.Amounts, []bill.Row) {
	limit := []int64{4, 50, 100_000, 10_000_000_000}[random.IntN(4)]
	some := func() bill.Paise { return bill.Paise(random.Int64N(limit)) }
	var rows, moved []bill.Row
	for range 1 + random.IntN(6) {
		row := bill.Row{Amount: some()}
		switch random.IntN(8) {
		case 0:
			row.Concession = row.Amount
		case 1:
			row.Amount = -row.Amount
		case 2:
			row.Concession = row.Amount / 2
		}
		rows = append(rows, row)
		if random.IntN(2) == 0 {
			moved = append(moved, row)
		}
	}
	head := headOf(rows)
	head.VAT, head.TDS, head.Additional = some(), some(), some()
	if random.IntN(4) == 0 {
		head.Additional = -head.Additional
	}
	if random.IntN(3) == 0 { // nothing is left to pay
		head.TDS = max(0, head.Total+head.Additional+head.VAT)
	}
	head.Total += head.Additional - head.TDS + head.VAT
	if random.IntN(5) == 0 {
		more, less := some(), some()
		head.Total += more - less
	}
	return head, moved
}
