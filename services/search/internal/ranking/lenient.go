package ranking

import (
	"slices"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// manyPieces is how many things a text must say so that two of them may be wrong; from fewPieces on, one may.
const (
	fewPieces  = 3
	manyPieces = 5
)

// Last plans what is done at the end for a text that says one thing too many: most of what it says is found. The names
// of relatives, labels and the like are not asked for. more reports that the text says more than was asked for before;
// ok is false when this would ask the same again.
func (c Compiler) Last(typed string, fields []search.Field) (p Plan, more, ok bool) {
	said := search.Say(typed)
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
	if n == 0 || n > maxWords+2 || n < fewPieces && !said.More {
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

// All adds to the last plan of a search those before it, whose hits stand above.
func (c Compiler) All(last Plan, q search.Query) Plan {
	first := c.First(q.Text, q.Fields, search.Full)
	if both, ok := c.Second(first, q.Text, q.Fields, search.Full); ok {
		first = both
	}
	first.byWord = append(first.byWord, last.byWord...)
	return first
}

// namePiece is a word of a name as it is typed, as it sounds, or with one typing error. alone: the text says nothing
// else about a patient.
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

// withInitials lets a word of a name also be found by its first letter, which alone is not enough.
func withInitials(pieces []word, names []string) {
	for i, name := range names {
		if letter, size := utf8.DecodeRuneInString(name); size < len(name) {
			initial := match(string(search.FullName), string(letter))
			pieces[i] = append(pieces[i], leaf{search.FullName, initial, -0.5, nil})
		}
	}
}

// bornPiece is any of the days or years of birth.
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

// numberPiece is any of the numbers, in the fields that the text names, or the birth date that one may
// be. Of several each is meant whole: they are beginnings of too many.
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
