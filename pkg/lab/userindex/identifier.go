package userindex

import (
	"slices"
	"strings"
	"unicode"
)

const minLast = 3 // minimum length of a last segment that is found without the others

// IdentifierForm returns a form as the index stores it: prefixed with the name of its field.
func IdentifierForm(field, form string) string { return field + ":" + form }

// Compact returns the forms of an identifier without separators: with and, if different, without leading zeros. It is
// nil if the identifier has no letters or digits.
func Compact(id string) []string {
	parts := runs(id)
	whole := strings.Join(parts, "")
	if whole == "" {
		return nil
	}
	for i, part := range parts {
		parts[i] = withoutZeros(part)
	}
	if short := strings.Join(parts, ""); short != whole {
		return []string{whole, short}
	}
	return []string{whole}
}

// Compacts returns the forms of an identifier and those of its last segment, sorted.
func Compacts(id string) []string {
	forms := Compact(id)
	segments := strings.FieldsFunc(id, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if n := len(segments); n > 1 && len(segments[n-1]) >= minLast {
		forms = append(forms, Compact(segments[n-1])...)
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// runs returns the runs of letters and of digits, in upper case.
func runs(id string) []string {
	const separator, letter, digit = 0, 1, 2
	capitals := strings.ToUpper(id)
	var parts []string
	begin, previous := 0, separator
	for at, r := range capitals {
		kind := separator
		switch {
		case unicode.IsLetter(r):
			kind = letter
		case unicode.IsDigit(r):
			kind = digit
		}
		if kind == previous {
			continue
		}
		if previous != separator {
			parts = append(parts, capitals[begin:at])
		}
		begin, previous = at, kind
	}
	if previous != separator {
		parts = append(parts, capitals[begin:])
	}
	return parts
}

func withoutZeros(part string) string {
	if short := strings.TrimLeft(part, "0"); short != "" {
		return short
	}
	return part[:min(1, len(part))]
}
