package bill

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Paise is an amount of money. Databases store it as a decimal with two places.
type Paise int64

// perRupee is the number of paise per rupee.
const perRupee = 100

// errNotDecimal does not contain the text, because errors must not contain data of bills.
var errNotDecimal = errors.New("not a decimal number with the places of its column")

// ParsePaise parses a decimal with at most two places, such as "1125.00".
func ParsePaise(text string) (Paise, error) {
	n, err := parseFixed(text, 2)
	return Paise(n), err
}

// Set parses a decimal like ParsePaise.
func (p *Paise) Set(text string) (err error) {
	*p, err = ParsePaise(text)
	return err
}

// String formats p as the decimal that ParsePaise parses.
func (p Paise) String() string { return formatFixed(int64(p), 2) }

// Rupees returns the amount for JSON. A float64 can represent every amount of the columns, which have 14 digits.
func (p Paise) Rupees() float64 { return float64(p) / perRupee }

// Percent is a rate in ten-thousandths of a percent, because the column has four places.
type Percent int64

const (
	perPercent = 10_000
	maxPercent = 1000*perPercent - 1 // the maximum of the column
)

// ParsePercent parses a decimal with at most four places.
func ParsePercent(text string) (Percent, error) {
	n, err := parseFixed(text, 4)
	return Percent(n), err
}

// Set parses a decimal like ParsePercent.
func (p *Percent) Set(text string) (err error) {
	*p, err = ParsePercent(text)
	return err
}

// String formats p as the decimal that ParsePercent parses.
func (p Percent) String() string { return formatFixed(int64(p), 4) }

// Number returns the rate for JSON.
func (p Percent) Number() float64 { return float64(p) / perPercent }

// parseFixed parses a decimal with at most places decimal places, and returns it in units of its last place.
func parseFixed(text string, places int) (int64, error) {
	whole, part, _ := strings.Cut(text, ".")
	if whole == "" || len(part) > places {
		return 0, errNotDecimal
	}
	digits := whole + part + strings.Repeat("0", places-len(part))
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strings.ContainsAny(part, "+-") {
		return 0, errNotDecimal
	}
	return n, nil
}

func formatFixed(n int64, places int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	digits := fmt.Sprintf("%0*d", places+1, n)
	return sign + digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}

// ratio is part / whole, from 0 to 1. The zero ratio is 0.
type ratio struct{ part, whole uint64 }

// ratioOf returns the ratio of two amounts, limited to 0 and 1. It is 0 if whole is not above zero.
func ratioOf(part, whole Paise) ratio {
	if whole <= 0 {
		return ratio{}
	}
	return ratio{magnitude(clamp(part, 0, whole)), magnitude(whole)}
}

// of returns the ratio's share of p, rounded half away from zero.
func (r ratio) of(p Paise) Paise {
	quotient, rest := r.divide(p)
	if rest != 0 && rest >= r.whole-rest {
		quotient++
	}
	return withSign(quotient, p)
}

// bounds returns the two integers between which the exact share of p lies.
func (r ratio) bounds(p Paise) (low, high Paise) {
	quotient, rest := r.divide(p)
	outer := quotient
	if rest != 0 {
		outer++
	}
	if p < 0 {
		return withSign(outer, p), withSign(quotient, p)
	}
	return withSign(quotient, p), withSign(outer, p)
}

// divide multiplies and divides with 128 bits, because a product of two amounts does not fit into 64.
func (r ratio) divide(p Paise) (quotient, rest uint64) {
	if r.whole == 0 {
		return 0, 0
	}
	high, low := bits.Mul64(magnitude(p), r.part)
	return bits.Div64(high, low, r.whole) // cannot overflow: part ≤ whole, so the quotient is at most p
}

func magnitude(p Paise) uint64 {
	if p < 0 {
		return uint64(-p)
	}
	return uint64(p)
}

// withSign returns n with the sign of p. n must not exceed the maximum of Paise.
func withSign(n uint64, p Paise) Paise {
	if p < 0 {
		return -Paise(n)
	}
	return Paise(n)
}
