package elastic

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
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
		to.asked, to.of, to.more = nil, placed(q.of, l), placed(q.more, l)
		return to
	}
	if q.field == userindex.Identifiers && l.family {
		return q.compacted()
	}
	base, part, _ := strings.Cut(q.field, ".")
	switch f := search.Field(base); {
	case f.Bucket() == "":
		return *q
	case f.Kind() == search.Phone:
		return q.ofPhone(base, part, l)
	case f.Kind() == search.Identifier || f.Kind() == search.Segmented || f.Kind() == search.Mail:
		return q.ofIdentifier(base, part, l)
	}
	return *q
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
	to.asked, to.field, to.texts = nil, userindex.Compacted, make([]string, len(q.texts))
	for i, text := range q.texts {
		_, to.texts[i], _ = strings.Cut(text, ":")
	}
	return to
}

// ofPhone: digits from the middle are where some of the last ones begin.
func (q *query) ofPhone(base, part string, l layout) query {
	to := *q
	to.asked = nil
	if l.family {
		base = userindex.Phones
	}
	switch {
	case l.old:
	case part == "suffix":
		part = "ends"
	case part == "middle":
		to.kind, part = begins, "ends"
	}
	to.field = joinPart(base, part)
	return to
}

func (q *query) ofIdentifier(base, part string, l layout) query {
	to := *q
	to.asked = nil
	switch {
	case !l.family && !l.old && part == "prefix":
		to.kind, to.field, to.texts = begins, userindex.Beginnings, []string{userindex.BeginningForm(base, q.texts[0])}
		return to
	case !l.family:
		return to
	case part == "segment":
		base, part = userindex.Segments, ""
	case q.kind == begins && utf8.RuneCountInString(q.texts[0]) > userindex.MaxForm: // the index cuts beginnings
		return to
	case q.kind == begins:
		to.kind, base, part = allWords, userindex.Whole, "prefix"
	default:
		base = userindex.Whole
	}
	to.field = joinPart(base, part)
	return to
}

func joinPart(base, part string) string {
	if part == "" {
		return base
	}
	return base + "." + part
}
