package ranking

import (
	"slices"
	"strings"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Numbers of digits with which the index finds telephone numbers.
const (
	minFirst = 3
	maxFirst = 15
	minLast  = 4
	maxLast  = 10 // length of a national number, sufficient to identify the telephone
	// minNational is the minimum number of digits of a complete number without its country code or the leading 0.
	minNational = 9
)

// phones returns the clauses for digits as a telephone number with or without a country code, and as its first or last
// digits. The closest clause is first.
func (c Compiler) phones(t text, f search.Field) []clause {
	if t.digits == "" {
		return nil
	}
	rest, forms := abroad(t.digits), c.forms(t.digits, minNational)
	if t.coded {
		forms = union(forms, rest)
	}
	equalOne := equal(string(f), forms)
	number := clause{tier: tierName, field: f, found: equalOne, nearer: []nearer{{term(string(f), t.digits), 0.5}}}
	if t.coded && len(t.digits) > maxLast || len(t.digits) == maxLast {
		number.found = either(equalOne, ends(f, t.digits))
		number.nearer = append(number.nearer, nearer{equalOne, 0.3})
	}
	all := []clause{number}
	parts, asTyped := c.begins(t.digits, f), match(prefix(f), t.digits)
	if len(t.digits) >= minLast && len(t.digits) <= maxLast {
		parts, asTyped = append(parts, ends(f, t.digits)), either(asTyped, ends(f, t.digits))
	}
	if len(parts) > 0 {
		all = append(all, clause{tier: tierPart, field: f, found: either(parts...), nearer: []nearer{{asTyped, 0.5}}})
	}
	if len(t.digits) > maxLast && !t.coded {
		all = append(all, supposed(t.digits, rest, f))
	}
	return all
}

// supposed returns the clause for telephone numbers that equal the digits without an assumed country code. It ranks
// low, because most such digits are the number of a card or a tube.
func supposed(digits string, rest []string, f search.Field) clause {
	c := clause{tier: tierPerson, field: f, found: ends(f, digits)}
	if len(rest) > 0 {
		national := equal(string(f), rest)
		c.found, c.nearer = either(national, c.found), []nearer{{national, 0.3}}
	}
	return c
}

// phoneParts returns queries for the first or last digits of a telephone number.
func (c Compiler) phoneParts(digits string, f search.Field) []Query {
	parts := c.begins(digits, f)
	if len(digits) >= minLast {
		parts = append(parts, ends(f, digits))
	}
	return parts
}

func (c Compiler) begins(digits string, f search.Field) []Query {
	if len(digits) < minFirst {
		return nil
	}
	var parts []Query
	for _, form := range c.forms(digits, minFirst) {
		if len(form) <= maxFirst {
			parts = append(parts, match(prefix(f), form))
		}
	}
	return parts
}

// ends returns a query for the last digits; at most ten are used.
func ends(f search.Field, digits string) Query { return match(suffixes[f], digits) }

var suffixes = partNames("suffix")

// forms returns the ways in which digits may be written: unchanged, without a country code if at least keep digits
// remain, and each of these with each country code.
func (c Compiler) forms(digits string, keep int) []string {
	national := []string{digits}
	for _, code := range c.Codes {
		if rest, ok := strings.CutPrefix(digits, code); ok && len(rest) >= keep && !slices.Contains(national, rest) {
			national = append(national, rest)
		}
	}
	all := slices.Clone(national)
	for _, code := range c.Codes {
		for _, n := range national {
			if form := code + n; !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	return all
}

const (
	minAbroad   = 8  // minimum number of digits after a country code
	minCountry  = 11 // minimum number of digits including a country code
	maxCountry  = 3  // maximum length of a country code
	twoDigits   = "20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98"
	trunkPrefix = "0"
)

// abroad returns how a number with a country code may be stored in its country: without the code, and with 0 in place
// of the code.
func abroad(digits string) []string {
	digits = strings.TrimPrefix(digits, "00")
	if len(digits) < minCountry || digits[0] == '0' {
		return nil
	}
	n := maxCountry
	switch {
	case digits[0] == '1' || digits[0] == '7':
		n = 1
	case strings.Contains(twoDigits, digits[:2]):
		n = 2
	}
	national := digits[n:]
	if len(national) < minAbroad {
		return nil
	}
	return []string{national, trunkPrefix + national}
}
