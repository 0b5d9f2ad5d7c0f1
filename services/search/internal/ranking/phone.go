package ranking

import (
	"slices"
	"strings"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Digits by which the index finds telephone numbers.
const (
	minFirst = 3
	maxFirst = 15
	minLast  = 4
	maxLast  = 10 // a national number: who has all of them has the telephone
)

// phones finds a text of digits as a number, with or without a country code, or by its first or last digits.
func (c Compiler) phones(t text, f search.Field) []clause {
	if t.digits == "" {
		return nil
	}
	forms := c.forms(t.digits, maxLast)
	equalOne := equal(string(f), forms)
	number := clause{tier: tierWhole, field: f, found: equalOne, nearer: []nearer{{term(string(f), t.digits), 0.5}}}
	if len(t.digits) >= maxLast {
		number.found = either(equalOne, ends(f, t.digits))
		number.nearer = append(number.nearer, nearer{equalOne, 0.3})
	}
	all := []clause{number}
	if parts := c.phoneParts(t.digits, f); len(parts) > 0 {
		asTyped := either(match(prefix(f), t.digits), ends(f, t.digits))
		all = append(all, clause{tier: tierPart, field: f, found: either(parts...), nearer: []nearer{{asTyped, 0.5}}})
	}
	return all
}

func (c Compiler) phoneParts(digits string, f search.Field) []Query {
	if len(digits) < minFirst {
		return nil
	}
	var parts []Query
	for _, form := range c.forms(digits, minFirst) {
		if len(form) <= maxFirst {
			parts = append(parts, match(prefix(f), form))
		}
	}
	if len(digits) >= minLast {
		parts = append(parts, ends(f, digits))
	}
	return parts
}

// ends compares the last digits, at most ten of them.
func ends(f search.Field, digits string) Query { return match(suffixes[f], digits) }

var suffixes = partNames("suffix")

// forms returns the ways to write digits: as they are, without a country code when at least keep digits remain, and
// with each country code in front of those.
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
