package bill

// PercentRule says which rate of VAT the two bills show.
type PercentRule string

// The values of BILL_SPLIT_VAT_PERCENT.
const (
	Carry  PercentRule = "carry"  // the original's rate on both: a printed rate must not drift. Derived when it is 0
	Derive PercentRule = "derive" // vat / (total - vat) x 100 of each bill
)

// Division is a bill's amounts after a split.
type Division struct {
	Parent, New Amounts
	// Limited reports that the moved tests cost more than the bill has, or less than nothing: the new bill got at most
	// what there is.
	Limited bool
}

// Divide gives the new bill the price of the moved tests and their share of tax, deduction and charges. The original
// keeps the rest. The head of the bill decides: when it disagrees with its tests, the difference stays on the original.
//
// What an insured patient pays belongs to the insurance: the new bill, which no insurance pays, has none of it, and the
// original no longer has the moved tests'.
func Divide(head Amounts, moved []Row, rule PercentRule) Division {
	price, all := priceOf(moved), head.Base()
	base := clamp(price.net, 0, max(all, 0))
	concession := within(price.concession, head.Concession)
	coPay, deductible := within(price.coPay, head.CoPay), within(price.deductible, head.Deductible)

	s := share(head, base, all)
	d := Division{Parent: head, Limited: base != price.net || concession != price.concession}
	d.New = Amounts{VAT: s.vat, TDS: s.tds, Additional: s.additional, Concession: concession, Total: s.total()}
	d.Parent.VAT -= s.vat
	d.Parent.TDS -= s.tds
	d.Parent.Additional -= s.additional
	d.Parent.Concession -= concession
	d.Parent.Total -= d.New.Total
	d.Parent.CoPay -= coPay
	d.Parent.Deductible -= deductible
	d.Parent.PatientPayable = d.Parent.CoPay + d.Parent.Deductible
	d.Parent.VATPercent, d.New.VATPercent = rule.of(head, d.Parent), rule.of(head, d.New)
	return d
}

// Disagrees reports whether the bill's amounts are not those of its tests, as in old data.
func Disagrees(head Amounts, rows []Row) bool { return priceOf(rows).net != head.Base() }

// shares is what the new bill gets.
type shares struct{ base, vat, tds, additional Paise }

func (s shares) total() Paise { return s.base + s.additional - s.tds + s.vat }

func share(head Amounts, base, all Paise) shares {
	s := shares{base: base}
	if all <= 0 {
		return s // a free bill: its charges stay
	}
	r := ratio{magnitude(base), magnitude(all)}
	s.vat, s.tds, s.additional = r.of(head.VAT), r.of(head.TDS), r.of(head.Additional)
	if head.Total >= 0 {
		s.settle(head, r)
	}
	return s
}

// settle keeps both totals from going below zero: three amounts that are rounded each on its own can do that to a total
// near zero, by a paisa. An amount that was rounded the wrong way for it is then rounded the other way.
func (s *shares) settle(head Amounts, r ratio) {
	need := max(0, -s.total()) + min(0, head.Total-s.total())
	for _, part := range []struct {
		share *Paise
		of    Paise
		sign  Paise // what one more of it does to the total
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

// of returns the rate that a bill shows after a split of head.
func (r PercentRule) of(head, a Amounts) Percent {
	if r != Derive && head.VATPercent != 0 {
		return head.VATPercent
	}
	return a.percent()
}

// percent is vat / (total - vat) x 100, at most what the column holds.
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

// rate is vat / net in units of whole, halves away from zero. vat is less than ten times net.
func rate(vat, net Paise, whole int64) Percent {
	n := magnitude(net)
	times, rest := magnitude(vat)/n, magnitude(vat)%n
	fraction := ratio{rest, n}.of(Paise(whole))
	return Percent(withSign(min(times*uint64(whole)+uint64(fraction), maxPercent), vat))
}

// within limits n to what is there: from 0 to there, or from there to 0 when there is below it.
func within(n, there Paise) Paise { return clamp(n, min(0, there), max(0, there)) }

func clamp(n, low, high Paise) Paise { return min(max(n, low), high) }
