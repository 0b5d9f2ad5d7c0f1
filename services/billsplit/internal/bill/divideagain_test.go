package bill_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// divideAgain implements the documented rule again, with fractions instead of whole paise. It follows the text and
// shares no code with Divide.
func divideAgain(head bill.Amounts, rows, moved []bill.Row) bill.Amounts {
	priced := rows
	if refundless := slices.DeleteFunc(slices.Clone(rows), func(r bill.Row) bool { return r.Refunded }); leaves(head, rows) != 0 && leaves(head, refundless) == 0 {
		priced = refundless
	}
	onNone := head.Concession - sum(priced, owned["billConcession"])
	lowered := sum(priced, net) - head.Base() - leaves(head, priced)
	byPrice := fraction(sum(moved, net), sum(priced, net))
	base := between(0, sum(moved, net)-nearest(byPrice, lowered), max(0, head.Base()))
	made := bill.Amounts{Concession: toward(head.Concession, sum(moved, owned["billConcession"])+nearest(byPrice, onNone))}
	part := fraction(base, head.Base())
	made.VAT, made.TDS, made.Additional = nearest(part, head.VAT), nearest(part, head.TDS), nearest(part, head.Additional)
	if head.Base() <= 0 {
		base = 0
	}
	// A total of rounded parts may leave the range from 0 to the original's total by a paisa. The first of deduction,
	// charges and tax whose rounding caused that is then rounded the other way.
	for total := func() bill.Paise { return base + made.Additional - made.TDS + made.VAT }; ; {
		made.Total = total()
		if head.Total < 0 || made.Total >= 0 && made.Total <= head.Total {
			return made
		}
		raise := made.Total < 0
		switch {
		case canMove(part, head.TDS, made.TDS, !raise):
			made.TDS += step(!raise)
		case canMove(part, head.Additional, made.Additional, raise):
			made.Additional += step(raise)
		default:
			made.VAT += step(raise)
		}
	}
}

// leaves returns by how much the tests cost more than the bill, minus the discount of the bill that belongs to none of
// them.
func leaves(head bill.Amounts, rows []bill.Row) bill.Paise {
	gap := sum(rows, net) - head.Base()
	return gap - toward(gap, head.Concession-sum(rows, owned["billConcession"]))
}

// toward limits p to the range between 0 and there, which may be negative.
func toward(there, p bill.Paise) bill.Paise {
	if there < 0 {
		return between(there, p, 0)
	}
	return between(0, p, there)
}

func between(low, p, high bill.Paise) bill.Paise { return max(low, min(p, high)) }

// fraction returns part / whole, limited to 0 and 1; 0 if whole is not above 0.
func fraction(part, whole bill.Paise) *big.Rat {
	if whole <= 0 {
		return new(big.Rat)
	}
	return big.NewRat(int64(between(0, part, whole)), int64(whole))
}

func step(up bool) bill.Paise {
	if up {
		return 1
	}
	return -1
}

// canMove reports whether the share, changed by one paisa, differs from the exact share by less than a paisa.
func canMove(part *big.Rat, of, share bill.Paise, up bool) bool {
	exact := new(big.Rat).Mul(part, big.NewRat(int64(of), 1))
	off := exact.Sub(exact, big.NewRat(int64(share+step(up)), 1))
	return off.Abs(off).Cmp(big.NewRat(1, 1)) < 0
}

// nearest returns the share of p, rounded half away from zero.
func nearest(part *big.Rat, p bill.Paise) bill.Paise {
	exact := new(big.Rat).Mul(part, big.NewRat(int64(p), 1))
	text := exact.FloatString(0) // rounds half away from zero
	n, _ := new(big.Int).SetString(text, 10)
	return bill.Paise(n.Int64())
}

// TestASecondImplementationAgrees checks that Divide and divideAgain return the same for random bills.
func TestASecondImplementationAgrees(t *testing.T) {
	t.Parallel()
	zero := 0
	eachBill(t, func(t *testing.T, n int, random *rand.Rand) {
		t.Helper()
		d := randomBill(random)
		var moved []bill.Row
		for _, row := range d.rows {
			if random.IntN(2) == 0 && !row.Refunded {
				moved = append(moved, row)
			}
		}
		got, want := bill.Divide(d.head, d.rows, moved, bill.Carry).New, divideAgain(d.head, d.rows, moved)
		want.CoPay, want.Deductible, want.PatientPayable, want.VATPercent = got.CoPay, got.Deductible, got.PatientPayable, got.VATPercent
		if got != want {
			t.Errorf("bill %d: %+v, tests %+v, of which %v move: %+v, and again %+v", n, d.head, d.rows, bill.IDs(moved), got, want)
		}
		if got.Total == 0 {
			zero++
		}
	})
	t.Logf("%d bills had a new total of zero", zero)
}
