package ranking

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// layout describes where the index stores the data that queries compare. Queries name a field of a patient or a part of
// it, such as "contact", "contact.prefix", "contact.suffix" and "contact.middle".
type layout struct {
	old    bool // the index has the older schema with other sound forms
	family bool // search all fields of one kind together, in an index field that contains the values of all of them
}

// placedIn returns the query converted to the fields of the index.
func (q *Query) placedIn(l layout) Query {
	if len(q.Of) > 0 || len(q.More) > 0 {
		to := *q
		to.Of, to.More = placed(q.Of, l), placed(q.More, l)
		return to
	}
	switch {
	case q.Field == userindex.Identifiers && l.family:
		return q.compacted()
	case q.Field == userindex.Sounds && l.old:
		return q.oldSounds()
	}
	p, moves := movable[q.Field]
	switch {
	case !moves:
		return *q
	case p.phone:
		return q.ofPhone(p, l)
	}
	return q.ofIdentifier(p, l)
}

// placed converts queries and removes duplicates from the result.
func placed(queries []Query, l layout) []Query {
	if len(queries) == 0 {
		return nil
	}
	all := make([]Query, 0, len(queries))
	for i := range queries {
		q := queries[i].placedIn(l)
		if !slices.ContainsFunc(all, func(other Query) bool { return q.same(&other) }) {
			all = append(all, q)
		}
	}
	return all
}

// compacted returns the query for the same identifier forms in all fields.
func (q *Query) compacted() Query {
	to := *q
	to.Field, to.Texts = userindex.Compacted, make([]string, len(q.Texts))
	for i, text := range q.Texts {
		_, to.Texts[i], _ = strings.Cut(text, ":")
	}
	return to
}

// oldSounds returns the query for the sound forms of the older schema. If the text has no such form, the query finds
// nothing.
func (q *Query) oldSounds() Query {
	to := *q
	to.Field, to.Texts = userindex.OldSounds, userindex.OldSoundForms(q.Heard)
	if len(to.Texts) == 0 {
		to.Texts = []string{""}
	}
	return to
}

// ofPhone converts a query for a telephone number. Digits from the middle are found as prefixes of the indexed
// suffixes.
func (q *Query) ofPhone(p place, l layout) Query {
	to := *q
	switch {
	case l.family:
		to.Field = p.ofAll
	default:
		to.Field = p.alone
	}
	if p.part == "middle" {
		to.Kind = Begins
	}
	return to
}

func (q *Query) ofIdentifier(p place, l layout) Query {
	to := *q
	switch {
	case !l.family && p.part == "prefix":
		to.Kind, to.Field = Begins, userindex.Beginnings
		to.Texts = []string{userindex.BeginningForm(p.base, q.Texts[0])}
	case !l.family:
	case q.Kind == Begins && utf8.RuneCountInString(q.Texts[0]) > userindex.MaxForm: // longer than the indexed prefixes
	case q.Kind == Begins:
		to.Kind, to.Field = AllWords, wholePrefix
	default:
		to.Field = p.ofAll
	}
	return to
}
