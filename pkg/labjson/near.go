package labjson

import (
	"slices"
	"strings"
)

// minEdited is how many letters a name has at least that may be one edit away from another: shorter names are too often
// names of their own.
const minEdited = 4

// Near returns the one of known that name resembles, "" when there is none: equal without case and separators, or, for
// names of four letters and more, one letter away (another, one more, one less, two swapped). A name that is one of
// known resembles none.
func Near(name string, known []string) string {
	if strings.HasPrefix(name, "$") || strings.HasPrefix(name, "@") { // what serializers add, $type and @id
		return ""
	}
	if slices.Contains(known, name) {
		return ""
	}
	plain := plainName(name)
	for _, one := range known {
		if plainName(one) == plain {
			return one
		}
	}
	for _, one := range known {
		if other := plainName(one); len(plain) >= minEdited && len(other) >= minEdited && oneEdit(plain, other) {
			return one
		}
	}
	return ""
}

// plainName is a name without case and separators.
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		}
		return -1
	}, name)
}

// oneEdit reports whether a becomes b by one letter that is another, added, left out, or swapped with its neighbour.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i == len(a):
		return false // equal
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
