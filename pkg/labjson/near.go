package labjson

import (
	"slices"
	"strings"
)

// minEdited is the minimum length of names that are compared with one edit. Shorter names too often resemble each other
// by chance.
const minEdited = 4

// Near returns the first of known that name resembles, or "". Names resemble each other if they are equal without case
// and separators, or, from four letters on, differ by one letter that is replaced, added, left out, or swapped with its
// neighbour. A name in known resembles none.
func Near(name string, known []string) string {
	if strings.HasPrefix(name, "$") || strings.HasPrefix(name, "@") { // serializers add names such as $type and @id
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

// plainName returns name in lower case without separators.
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

// oneEdit reports whether a and b differ by one letter that is replaced, added, left out, or swapped with its
// neighbour.
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
		return false // the names are equal
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
