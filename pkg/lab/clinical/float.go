package clinical

// Number is the number in the value, for showing: 0.01 of "<0.01", 12.5 of "12.5 H", 80 of "1:80". ok is false for
// words and for ranges like "2-4". Nothing is judged by it: judging is exact.
func (v Value) Number() (number float64, ok bool) {
	switch {
	case !v.numeric:
		return 0, false
	case !v.low.set:
		return v.high.at.decimal().InexactFloat64(), true
	case !v.high.set || v.low.at.compare(v.high.at) == 0:
		return v.low.at.decimal().InexactFloat64(), true
	default:
		return 0, false
	}
}
