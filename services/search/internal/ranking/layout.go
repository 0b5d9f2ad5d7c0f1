package ranking

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// layout says where the index holds what queries compare. They speak of a field of a patient and of its parts:
// "contact", and of it "prefix", "suffix" and "middle".
type layout struct {
	old    bool // the index is of the older schema, which has other forms of sounds
	family bool // fields that are compared alike are compared as one: the index holds their values in one as well
}

// placedIn asks what the index holds in place of the query's field.
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

// placed does it for several, and leaves out queries that then ask the same.
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

// compacted asks for forms of identifiers whichever field they are of.
func (q *Query) compacted() Query {
	to := *q
	to.Field, to.Texts = userindex.Compacted, make([]string, len(q.Texts))
	for i, text := range q.Texts {
		_, to.Texts[i], _ = strings.Cut(text, ":")
	}
	return to
}

// oldSounds asks for the forms of the older schema. A text that has none there finds no one.
func (q *Query) oldSounds() Query {
	to := *q
	to.Field, to.Texts = userindex.OldSounds, userindex.OldSoundForms(q.Heard)
	if len(to.Texts) == 0 {
		to.Texts = []string{""}
	}
	return to
}

// ofPhone: digits from the middle are where some of the last ones begin.
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
	case q.Kind == Begins && utf8.RuneCountInString(q.Texts[0]) > userindex.MaxForm: // the index cuts beginnings
	case q.Kind == Begins:
		to.Kind, to.Field = AllWords, wholePrefix
	default:
		to.Field = p.ofAll
	}
	return to
}
