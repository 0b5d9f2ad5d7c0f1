package elastic

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// layout says where the index holds what queries compare. They speak of a field of a patient and of its parts:
// "contact", and of it "prefix", "suffix" and "middle".
type layout struct {
	old    bool // the index is of the older schema, which has these parts for every field
	family bool // fields that are compared alike are compared as one: the index holds their values in one as well
}

// in asks what the index holds in place of the query's field.
func (q *query) in(l layout) query {
	if len(q.of) > 0 || len(q.more) > 0 {
		to := *q
		to.of, to.more = placed(q.of, l), placed(q.more, l)
		return to
	}
	if q.field == userindex.Identifiers && l.family {
		return q.compacted()
	}
	p, moves := movable[q.field]
	switch {
	case !moves:
		return *q
	case p.phone:
		return q.ofPhone(p, l)
	}
	return q.ofIdentifier(p, l)
}

// placed does it for several, and leaves out those that then ask the same.
func placed(queries []query, l layout) []query {
	if len(queries) == 0 {
		return nil
	}
	all := make([]query, 0, len(queries))
	for i := range queries {
		q := queries[i].in(l)
		if !slices.ContainsFunc(all, func(other query) bool { return q.same(&other) }) {
			all = append(all, q)
		}
	}
	return all
}

// compacted asks for forms of identifiers whichever field they are of.
func (q *query) compacted() query {
	to := *q
	to.field, to.texts = userindex.Compacted, make([]string, len(q.texts))
	for i, text := range q.texts {
		_, to.texts[i], _ = strings.Cut(text, ":")
	}
	return to
}

// ofPhone: digits from the middle are where some of the last ones begin.
func (q *query) ofPhone(p place, l layout) query {
	to := *q
	switch {
	case l.old && l.family:
		to.field = p.ofAllOld
	case l.old:
	case l.family:
		to.field = p.ofAll
	default:
		to.field = p.alone
	}
	if p.part == "middle" && !l.old {
		to.kind = begins
	}
	return to
}

func (q *query) ofIdentifier(p place, l layout) query {
	to := *q
	switch {
	case !l.family && !l.old && p.part == "prefix":
		to.kind, to.field = begins, userindex.Beginnings
		to.texts = []string{userindex.BeginningForm(p.base, q.texts[0])}
	case !l.family:
	case q.kind == begins && utf8.RuneCountInString(q.texts[0]) > userindex.MaxForm: // the index cuts beginnings
	case q.kind == begins:
		to.kind, to.field = allWords, wholePrefix
	default:
		to.field = p.ofAll
	}
	return to
}
