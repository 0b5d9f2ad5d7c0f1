package clinical

import (
	"cmp"
	"math"

	"github.com/shopspring/decimal"
)

// number is an exact decimal: coefficient × 10^-scale. A number with more digits than fit into an int64 is stored in
// wide instead.
type number struct {
	coefficient int64
	scale       uint8
	wide        *decimal.Decimal
}

// maxDigits is the number of decimal digits that always fit into an int64.
const maxDigits = 18

var powers = [maxDigits + 1]int64{
	1,
	1e1,
	1e2,
	1e3,
	1e4,
	1e5,
	1e6,
	1e7,
	1e8,
	1e9,
	1e10,
	1e11,
	1e12,
	1e13,
	1e14,
	1e15,
	1e16,
	1e17,
	1e18,
}

// parseNumber parses -12, 3.99, .5, and thousands separators in western (1,500) or Indian (1,50,000) grouping. It
// rejects ambiguous forms: exponents, a plus sign, decimal commas and a trailing point.
func parseNumber(s string) (number, bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	var n int64
	digits, point, commas := 0, -1, false
	for i := range len(s) {
		switch c := s[i]; {
		case c-'0' <= 9:
			digits++
			if digits <= maxDigits {
				n = n*10 + int64(c-'0')
			}
		case c == '.' && point < 0:
			point = i
		case c == ',' && point < 0:
			commas = true
		default:
			return number{}, false
		}
	}
	if digits == 0 || point == len(s)-1 || commas && !grouped(whole(s, point)) {
		return number{}, false
	}
	if digits > maxDigits {
		return wideNumber(s, negative)
	}
	if negative {
		n = -n
	}
	scale := 0
	if point >= 0 {
		scale = len(s) - point - 1
	}
	return number{coefficient: n, scale: uint8(scale)}, true
}

func whole(s string, point int) string {
	if point < 0 {
		return s
	}
	return s[:point]
}

// grouped checks the separators of 1,500,000 or 15,00,000: the last group has three digits, all others have three or
// all have two; the first may be shorter and must not start with 0, because "0,500" is a decimal comma.
func grouped(s string) bool {
	last := len(s) - 4
	if last < 1 || s[last] != ',' || s[0] == '0' {
		return false
	}
	return groupedBy(s[:last], 3) || groupedBy(s[:last], 2)
}

func groupedBy(s string, size int) bool {
	since := 0 // digits since the last comma, counted from the right
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != ',' {
			since++
			continue
		}
		if since != size {
			return false
		}
		since = 0
	}
	return since >= 1 && since <= size
}

func wideNumber(s string, negative bool) (number, bool) {
	plain := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] != ',' {
			plain = append(plain, s[i])
		}
	}
	d, err := decimal.NewFromString(string(plain))
	if err != nil {
		return number{}, false
	}
	if negative {
		d = d.Neg()
	}
	return number{wide: &d}, true
}

func (n number) decimal() decimal.Decimal {
	if n.wide != nil {
		return *n.wide
	}
	return decimal.New(n.coefficient, -int32(n.scale))
}

func (n number) compare(m number) int {
	if n.wide != nil || m.wide != nil {
		return n.decimal().Cmp(m.decimal())
	}
	if n.scale == m.scale {
		return cmp.Compare(n.coefficient, m.coefficient)
	}
	a, aFits := n.scaled(m.scale)
	b, bFits := m.scaled(n.scale)
	if !aFits || !bFits {
		return n.decimal().Cmp(m.decimal())
	}
	return cmp.Compare(a, b)
}

// scaled returns the coefficient of n at the larger of its scale and the given one; ok is false if it does not fit.
func (n number) scaled(scale uint8) (int64, bool) {
	if scale <= n.scale {
		return n.coefficient, true
	}
	power := powers[scale-n.scale]
	if limit := math.MaxInt64 / power; n.coefficient > limit || n.coefficient < -limit {
		return 0, false
	}
	return n.coefficient * power, true
}

func (n number) positive() bool {
	if n.wide != nil {
		return n.wide.IsPositive()
	}
	return n.coefficient > 0
}
