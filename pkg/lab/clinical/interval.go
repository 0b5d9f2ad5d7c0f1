package clinical

import "fmt"

// Outcome is the position of a value relative to limits. The zero value is Undecided.
type Outcome uint8

// The outcomes.
const (
	Undecided Outcome = iota // unknown: no result, no limits, or a text or "<5" that cannot be compared
	Inside                   // within the limits, or one of the listed normal texts
	Low                      // below the lower limit
	High                     // above the upper limit
	Unlisted                 // a text that is not listed as normal
)

// Outside reports whether the value is certainly outside the limits.
func (o Outcome) Outside() bool { return o >= Low }

// String returns the outcome's name for logs.
func (o Outcome) String() string {
	names := [...]string{"undecided", "inside", "low", "high", "unlisted"}
	if int(o) < len(names) {
		return names[o]
	}
	return "unknown"
}

// Range has inclusive bounds. Either may be missing; without both, every value is Undecided.
type Range struct {
	low, high end
	titre     bool
}

// NewRange returns a range with bounds from decimal texts as the database prints them; nil means no bound.
func NewRange(low, high *string) (Range, error) {
	l, err := bound(low)
	if err != nil {
		return Range{}, err
	}
	h, err := bound(high)
	if err != nil {
		return Range{}, err
	}
	return Range{low: l, high: h}, nil
}

// NewTitreRange returns a range of titres. The bounds are denominators: "80" means 1:80.
func NewTitreRange(low, high *string) (Range, error) {
	r, err := NewRange(low, high)
	r.titre = true
	return r, err
}

func bound(text *string) (end, error) {
	if text == nil {
		return end{}, nil
	}
	n, ok := parseNumber(*text)
	if !ok {
		return end{}, fmt.Errorf("bound %q is not a decimal number", *text)
	}
	return end{set: true, at: n}, nil
}

// Empty reports whether both bounds are missing.
func (r Range) Empty() bool { return !r.low.set && !r.high.set }

// bounds reports whether the range has a bound on the side of an outcome.
func (r Range) bounds(side Outcome) bool {
	return side == Low && r.low.set || side == High && r.high.set
}

func (r Range) equal(o Range) bool {
	return r.titre == o.titre && r.low.equal(o.low) && r.high.equal(o.high)
}

// Classify returns the position of v. A titre is compared only with a titre range, and a plain number only with a plain
// range. For "<x" a lower bound of 0 or less is ignored, because such results cannot be negative.
func (r Range) Classify(v Value) Outcome {
	if !v.numeric || v.titre != r.titre || r.Empty() {
		return Undecided
	}
	low := r.low
	if v.below && low.set && !low.at.positive() {
		low = end{}
	}
	switch {
	case entirelyBelow(v.high, low):
		return Low
	case entirelyAbove(v.low, r.high):
		return High
	case notBelow(v.low, low) && notAbove(v.high, r.high):
		return Inside
	default:
		return Undecided
	}
}

func entirelyBelow(high, bound end) bool {
	if !bound.set || !high.set {
		return false
	}
	c := high.at.compare(bound.at)
	return c < 0 || c == 0 && high.open
}

func entirelyAbove(low, bound end) bool {
	if !bound.set || !low.set {
		return false
	}
	c := low.at.compare(bound.at)
	return c > 0 || c == 0 && low.open
}

func notBelow(low, bound end) bool {
	return !bound.set || low.set && low.at.compare(bound.at) >= 0
}

func notAbove(high, bound end) bool {
	return !bound.set || high.set && high.at.compare(bound.at) <= 0
}
