package ranking

import (
	"slices"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Limits used by Last: of fewPieces or more pieces, one may be missing in a patient; of manyPieces or more, two.
const (
	fewPieces  = 3
	manyPieces = 5
)

// Last returns the plan for a text with parts that the patient does not have: it finds patients that match most of the
// text. Names of relatives, labels and the like are ignored. more is set if the text contains more than the earlier
// plans search for. Words of the name after the first maxWords are ignored, too. ok is false if the plan would find
// nothing new.
func (c Compiler) Last(typed string, fields []search.Field) (p Plan, more, ok bool) {
	said := search.Say(typed)
	said.Names = said.Names[:min(len(said.Names), maxWords)]
	var pieces []word
	named := slices.Contains(fields, search.FullName)
	if named {
		alone := len(said.Names)+len(said.Births)+len(said.Years)+len(said.Numbers) == 1
		for _, name := range said.Names {
			pieces = append(pieces, namePiece(name, alone))
		}
		if born := bornPiece(&said); len(born) > 0 {
			pieces = append(pieces, born)
		}
	}
	if numbers := c.numberPiece(said.Numbers, fields, named); len(numbers) > 0 {
		pieces = append(pieces, numbers)
	}
	n := len(pieces)
	if n == 0 || n < fewPieces && !said.More {
		return Plan{}, false, false
	}
	least := n
	switch {
	case n >= manyPieces:
		least = n - 2
	case n >= fewPieces:
		least = n - 1
	}
	if named && n >= fewPieces {
		withInitials(pieces, said.Names)
	}
	return Plan{byWord: []wordly{{tier: tierMost, words: pieces, least: least}}}, said.More, true
}

// All returns the last plan of a search merged with the first and second plan, whose hits rank higher.
func (c Compiler) All(last Plan, q search.Query) Plan {
	first := c.First(q.Text, q.Fields, search.Full)
	if both, ok := c.Second(first, q.Text, q.Fields, search.Full); ok {
		first = both
	}
	first.byWord = append(first.byWord, last.byWord...)
	return first
}

// namePiece returns the places of a word of a name: as typed, by sound, or with one typing error. alone is set if the
// text has no other piece.
func namePiece(name string, alone bool) word {
	if utf8.RuneCountInString(name) == 1 {
		return word{{search.FullName, match(string(search.FullName), name), 0.9, nil}}
	}
	w := nameLeaves(name, search.FullName, near, alone)
	if words := userindex.Words(name); len(words) > 0 {
		w = append(w, leaf{search.FullName, joinedWays(words), 0.3, nil})
	}
	return w
}

// withInitials adds the first letter of each word as a place. Initials alone do not find a patient.
func withInitials(pieces []word, names []string) {
	for i, name := range names {
		if letter, size := utf8.DecodeRuneInString(name); size < len(name) {
			initial := match(string(search.FullName), string(letter))
			pieces[i] = append(pieces[i], leaf{search.FullName, initial, -0.5, nil})
		}
	}
}

// bornPiece returns the places of the birth dates or years of birth.
func bornPiece(said *search.Said) word {
	var born word
	if len(said.Births) > 0 {
		born = append(born, leaf{search.DateOfBirth, equal(string(search.DateOfBirth), said.Births), 0.9, nil})
	}
	for _, year := range said.Years {
		born = append(born, leaf{search.DateOfBirth, compare(InYear, string(search.DateOfBirth), year), 0.5, nil})
	}
	return born
}

// numberPiece returns the places of all numbers: in the fields named in the text, or as a birth date if possible. If
// there are several numbers, only complete values match, because too many values begin with one of them.
func (c Compiler) numberPiece(numbers []search.Number, fields []search.Field, named bool) word {
	var all word
	for _, number := range numbers {
		t := parse(number.Text)
		for _, f := range fields {
			if len(number.Of) > 0 && !slices.Contains(number.Of, f) {
				continue
			}
			t.coded = t.coded || len(number.Of) > 0
			all = append(all, c.numberLeaves(t, f, len(numbers) > 1)...)
		}
		if named && number.Birth != "" {
			all = append(all, leaf{search.DateOfBirth, term(string(search.DateOfBirth), number.Birth), 0.9, nil})
		}
	}
	return all
}

func (c Compiler) numberLeaves(t text, f search.Field, whole bool) word {
	var found []clause
	switch f.Kind() {
	case search.Phone:
		found = c.phones(t, f)
	case search.Mail:
		found = mails(nil, t, f, search.Full)
	case search.Identifier, search.Segmented:
		found = append(identifiers(nil, t, f, search.Full), compacted(compacts(t), f)...)
	}
	var leaves word
	for _, one := range found {
		switch {
		case one.tier == tierWhole, one.tier == tierName:
			leaves = append(leaves, leaf{f, one.found, 0.9, nil})
		case !whole, one.tier == tierPerson:
			leaves = append(leaves, leaf{f, one.found, 0.5, nil})
		}
	}
	return leaves
}
