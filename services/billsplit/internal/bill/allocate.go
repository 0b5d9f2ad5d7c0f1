package bill

import "fmt"

// PercentRule defines the VAT rate that the two bills show.
type PercentRule string

// Values of BILL_SPLIT_VAT_PERCENT.
const (
	Carry  PercentRule = "carry"  // the original's rate on both, as a printed rate must not change; derived if it is 0
	Derive PercentRule = "derive" // vat / (total - vat) x 100, for each bill
)

// Division holds a bill's amounts after a split. For every amount, Parent and New add up to the original.
type Division struct {
	Parent, New Amounts
	// Notes are warnings about the amounts. None of them stops the split.
	Notes []Failure
}

// Divide computes the amounts of both bills. The new bill gets the price of the moved tests, and their share of the
// amounts that belong to no test. The original keeps the rest of every amount, so nothing is rounded twice. If the
// price of the bill differs from that of its tests, the bill's counts, and the difference stays on the original.
func Divide(head Amounts, rows, moved []Row, rule PercentRule) Division {
	d := divider{head: head, rows: rows, part: priceOf(moved)}
	base := d.price()
	s := share(head, base, head.Base())
	d.made.VAT, d.made.TDS, d.made.Additional, d.made.Total = s.vat, s.tds, s.additional, s.total()
	d.patientPart(ratioOf(base, head.Base()))
	parent := head.Minus(d.made)
	parent.VATPercent, d.made.VATPercent = rule.of(head, parent), rule.of(head, d.made)
	return Division{parent, d.made, d.notes}
}

// divider computes the division of one bill.
type divider struct {
	head  Amounts
	rows  []Row
	part  price // price of the moved tests
	made  Amounts
	notes []Failure
}

// price computes the discount of the new bill, and returns the price of the moved tests. A discount that belongs to no
// test is shared in proportion to the tests' prices, as far as it lowered the price of the bill.
func (d *divider) price() Paise {
	whole, all := whole(d.head, d.rows), d.head.Base()
	gap, unplaced := whole.net-all, d.head.Concession-whole.concession
	lowered := within(unplaced, gap)
	byPrice := ratioOf(d.part.net, whole.net)
	if unplaced != 0 {
		d.note(AmountsDisagree, "billConcession: %s of the bill's discount stands on no test; it is shared by the tests'"+
			" prices, and %s of it moves", unplaced, byPrice.of(unplaced))
	}
	if gap != lowered {
		d.note(AmountsDisagree, "billTotalAmount: the sum of the tests is %s more than the price of the bill; the difference"+
			" stays on this bill", gap-lowered)
	}
	low, high := min(0, d.head.Concession), max(0, d.head.Concession)
	d.made.Concession = d.limit("billConcession", d.part.concession+byPrice.of(unplaced), low, high, 0)
	return d.limit("billTotalAmount", d.part.net-byPrice.of(lowered), 0, max(all, 0), 0)
}

// patientPart divides the amounts that the patient pays of an insured bill. Each amount is divided on its own: if the
// tests' amounts add up to the bill's, the moved tests take theirs; otherwise they take a share by price. Neither bill
// gets more than its total, unless the original bill already had more.
func (d *divider) patientPart(byPrice ratio) {
	all, billed := priceOf(d.rows), priceOf(unrefunded(d.rows))
	for _, p := range []struct {
		name                   string
		head, all, billed, own Paise
		into                   *Paise
	}{
		{"co_pay_amount", d.head.CoPay, all.coPay, billed.coPay, d.part.coPay, &d.made.CoPay},
		{"deductible_amount", d.head.Deductible, all.deductible, billed.deductible, d.part.deductible, &d.made.Deductible},
		{"patientPayableAmount", d.head.PatientPayable, all.patient, billed.patient, d.part.patient, &d.made.PatientPayable},
	} {
		want, slack := p.own, Paise(0)
		if p.head != p.all && p.head != p.billed {
			want, slack = byPrice.of(p.head), roundings
			if p.all != 0 {
				d.note(AmountsDisagree, "%s: the tests' own amounts add up to %s and the bill has %s, which is shared by price",
					p.name, p.all, p.head)
			}
		}
		low, high := min(0, p.head), max(0, p.head)
		if total := d.head.Total; 0 <= p.head && p.head <= total {
			low, high = max(low, p.head-(total-d.made.Total)), min(high, d.made.Total)
		}
		*p.into = d.limit(p.name, want, low, high, slack)
	}
	if of := Amounts.isCoPayAndDeductible; of(d.head) && (!of(d.made) || !of(d.head.Minus(d.made))) {
		d.note(AmountsDisagree, "patientPayableAmount was co-pay and deductible together, and no longer is: the tests state"+
			" what they have of these, but not what the patient pays, so that was shared by price. Check both bills")
	}
	if d.made.CoPay != 0 || d.made.Deductible != 0 || d.made.PatientPayable != 0 {
		d.note(PatientPartMoved, "The patient's part of the chosen tests becomes payable on the new bill, which no insurance"+
			" pays: patientPayableAmount %s, co_pay_amount %s, deductible_amount %s", d.made.PatientPayable, d.made.CoPay,
			d.made.Deductible)
	}
}

// isCoPayAndDeductible reports whether the patient's part is the sum of co-pay and deductible, apart from rounding.
func (a Amounts) isCoPayAndDeductible() bool {
	return magnitude(a.PatientPayable-a.CoPay-a.Deductible) <= roundings
}

// roundings is the maximum difference, in paise, between amounts that were shared and rounded separately.
const roundings = 3

// limit returns want limited to low and high. It notes a difference above slack, which allows for rounding.
func (d *divider) limit(name string, want, low, high, slack Paise) Paise {
	can := clamp(want, low, high)
	if off := can - want; off < -slack || off > slack {
		d.note(AmountLimited, "%s: the chosen tests have %s, but %s moves; the difference goes to the other bill, because"+
			" neither bill can have more than there is", name, want, can)
	}
	return can
}

func (d *divider) note(kind, format string, args ...any) {
	d.notes = append(d.notes, Failure{Type: kind, Message: fmt.Sprintf(format, args...)})
}

// shares are the amounts of the new bill.
type shares struct{ base, vat, tds, additional Paise }

func (s shares) total() Paise { return s.base + s.additional - s.tds + s.vat }

func share(head Amounts, base, all Paise) shares {
	s := shares{base: base}
	if all <= 0 {
		return s // a free bill: its charges stay on the original
	}
	r := ratioOf(base, all)
	s.vat, s.tds, s.additional = r.of(head.VAT), r.of(head.TDS), r.of(head.Additional)
	if head.Total >= 0 {
		s.settle(head, r)
	}
	return s
}

// settle keeps both totals from becoming negative. Three amounts that are rounded separately can do that, by a paisa,
// to a total near zero. It then rounds one of the amounts the other way.
func (s *shares) settle(head Amounts, r ratio) {
	need := max(0, -s.total()) + min(0, head.Total-s.total())
	for _, part := range []struct {
		share *Paise
		of    Paise
		sign  Paise // change of the total if the share grows by one
	}{{&s.tds, head.TDS, -1}, {&s.additional, head.Additional, 1}, {&s.vat, head.VAT, 1}} {
		if need == 0 {
			return
		}
		step := part.sign
		if need < 0 {
			step = -step
		}
		low, high := r.bounds(part.of)
		if moved := *part.share + step; low <= moved && moved <= high {
			*part.share = moved
			need -= step * part.sign
		}
	}
}

// of returns the rate that a bill with amounts a shows after the split of head.
func (r PercentRule) of(head, a Amounts) Percent {
	if r != Derive && head.VATPercent != 0 {
		return head.VATPercent
	}
	return a.percent()
}

// percent returns vat / (total - vat) x 100, limited to the maximum of the column.
func (a Amounts) percent() Percent {
	net := a.Total - a.VAT
	const whole = 100 * perPercent
	switch vat := Paise(magnitude(a.VAT)); {
	case net <= 0 || vat == 0:
		return 0
	case vat/10 >= net:
		return Percent(withSign(maxPercent, a.VAT))
	default:
		return rate(a.VAT, net, whole)
	}
}

// rate returns vat / net in units of whole, rounded half away from zero. vat must be less than ten times net.
func rate(vat, net Paise, whole int64) Percent {
	n := magnitude(net)
	times, rest := magnitude(vat)/n, magnitude(vat)%n
	fraction := ratio{rest, n}.of(Paise(whole))
	return Percent(withSign(min(times*uint64(whole)+uint64(fraction), maxPercent), vat))
}

// within limits n to the range between 0 and there, which may be negative.
func within(n, there Paise) Paise { return clamp(n, min(0, there), max(0, there)) }

func clamp(n, low, high Paise) Paise { return min(max(n, low), high) }
