package clinical

// Number returns the number in the value for display: 0.01 for "<0.01", 12.5 for "12.5 H", 80 for "1:80". ok is false
// for words and for ranges such as "2-4". It may be rounded; evaluation uses exact numbers.
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
