package bill

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Paise is an amount of money. Stores keep it as a decimal with two places.
type Paise int64

// perRupee is how many paise a rupee has.
const perRupee = 100

// errNotDecimal does not repeat the text: errors hold nothing of what a bill says.
var errNotDecimal = errors.New("not a decimal number with the places of its column")

// ParsePaise reads a decimal with two places at most, as "1125.00".
func ParsePaise(text string) (Paise, error) {
	n, err := parseFixed(text, 2)
	return Paise(n), err
}

// Set reads a decimal as ParsePaise does.
func (p *Paise) Set(text string) (err error) {
	*p, err = ParsePaise(text)
	return err
}

// String writes the decimal that ParsePaise reads.
func (p Paise) String() string { return formatFixed(int64(p), 2) }

// Rupees is the amount for JSON. A float64 holds every amount of the table's columns: they have 14 digits.
func (p Paise) Rupees() float64 { return float64(p) / perRupee }

// Percent is a rate in ten-thousandths of a percent: the column has four places.
type Percent int64

const (
	perPercent = 10_000
	maxPercent = 1000*perPercent - 1 // what the column holds
)

// ParsePercent reads a decimal with four places at most.
func ParsePercent(text string) (Percent, error) {
	n, err := parseFixed(text, 4)
	return Percent(n), err
}

// Set reads a decimal as ParsePercent does.
func (p *Percent) Set(text string) (err error) {
	*p, err = ParsePercent(text)
	return err
}

// String writes the decimal that ParsePercent reads.
func (p Percent) String() string { return formatFixed(int64(p), 4) }

// Number is the rate for JSON.
func (p Percent) Number() float64 { return float64(p) / perPercent }

// parseFixed reads a decimal with places digits at most behind the point as a whole number of its last place.
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

// ratio is part of whole, from 0 to 1. The zero ratio is 0.
type ratio struct{ part, whole uint64 }

// ratioOf returns the ratio of two amounts: 0 for a part below nothing and for a whole that is not above it, and 1 for
// a part above the whole.
func ratioOf(part, whole Paise) ratio {
	if whole <= 0 {
		return ratio{}
	}
	return ratio{magnitude(clamp(part, 0, whole)), magnitude(whole)}
}

// of returns the ratio's share of p, halves away from zero.
func (r ratio) of(p Paise) Paise {
	quotient, rest := r.divide(p)
	if rest != 0 && rest >= r.whole-rest {
		quotient++
	}
	return withSign(quotient, p)
}

// bounds returns the two whole amounts between which the exact share of p lies.
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

// divide works on 128 bits: a product of two amounts does not fit into 64.
func (r ratio) divide(p Paise) (quotient, rest uint64) {
	if r.whole == 0 {
		return 0, 0
	}
	high, low := bits.Mul64(magnitude(p), r.part)
	return bits.Div64(high, low, r.whole) // part ≤ whole, so the quotient is at most p
}

func magnitude(p Paise) uint64 {
	if p < 0 {
		return uint64(-p)
	}
	return uint64(p)
}

// withSign gives n, at most an amount, the sign of p.
func withSign(n uint64, p Paise) Paise {
	if p < 0 {
		return -Paise(n)
	}
	return Paise(n)
}
