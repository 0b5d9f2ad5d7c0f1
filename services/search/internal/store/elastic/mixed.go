package elastic

import (
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// everyWord says where each word of the text may be found. Nil when the text has one word and none may be wrong, or too many, or
// when one of its words can be found nowhere.
func (c compiler) everyWord(t text, fields []search.Field, by tier, effort search.Effort) []word {
	pieces := joinDigits(t.words)
	if len(t.words) == 0 || len(pieces) > maxWords || len(pieces) < 2 && by == tierMixed {
		return nil
	}
	hear := effort == search.Full && (by == tierTypo || t.holdsMore())
	var all []word
	for _, piece := range pieces {
		var w word
		for _, f := range fields {
			w = append(w, c.places(piece, f, by, hear)...)
		}
		if len(w) == 0 {
			return nil
		}
		all = append(all, w)
	}
	return all
}

// holdsMore tells whether the text holds more than a name. The sounds of mere names have a tier of their own.
func (t text) holdsMore() bool {
	for _, w := range t.words {
		if _, ok := spoken(w); !ok {
			return true
		}
	}
	return false
}

// joinDigits makes one piece of the parts of a telephone number.
func joinDigits(of []string) []string {
	var pieces []string
	joined := false
	for _, w := range of {
		digits := phoneDigits(w) != ""
		if digits && joined {
			pieces[len(pieces)-1] += " " + w
			continue
		}
		pieces, joined = append(pieces, w), digits
	}
	return pieces
}

// places says where in a field a word may be found.
func (c compiler) places(piece string, f search.Field, by tier, hear bool) []leaf {
	switch f.Kind() {
	case search.Name:
		return nameLeaves(piece, f, by, hear)
	case search.Phone:
		if digits := phoneDigits(piece); len(digits) >= minFirst {
			return []leaf{{f, anyOf(c.phoneParts(digits, f)...), 0.5}}
		}
		return nil
	}
	t := parse(piece)
	found := mails(t, f, search.Full)
	if f.Kind() != search.Mail {
		found = identifiers(t, f, search.Full)
	}
	var leaves []leaf
	for _, way := range found {
		if way.tier == tierPart { // what is equal begins so too
			leaves = append(leaves, leaf{f, way.found, 0.5})
		}
	}
	return leaves
}

func nameLeaves(piece string, f search.Field, by tier, hear bool) []leaf {
	leaves := []leaf{{f, match(string(f), piece), 0.9}, {f, match(prefix(f), piece), 0.6}}
	alike, heard := bySound(parse(piece))
	if heard = heard && hear; heard {
		leaves = append(leaves, leaf{f, alike, 0.3})
	}
	if by != tierTypo || !mayBeWrong(piece) {
		return leaves
	}
	near := similar(string(f), piece, oneError)
	if heard {
		leaves = append(leaves, leaf{f, allOf(near, alike), 0.5})
	}
	return append(leaves, leaf{f, near, 0.4}, leaf{f, similar(string(f), piece, someErrors), 0})
}
