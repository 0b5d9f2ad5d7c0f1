package ranking

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// table contains all fields in the order used in responses.
var table = search.Explaining()

// fields is a set of fields, indexed by their position in table.
type fields [32]bool

func (f *fields) add(field search.Field) { f[slices.Index(table, field)] = true }

// list returns the fields in the order of table, and the first of their buckets.
func (f *fields) list() (search.Bucket, []search.Field) {
	bucket, found := search.Sample, make([]search.Field, 0, 2)
	for i, field := range table {
		if !f[i] {
			continue
		}
		found = append(found, field)
		if b := field.Bucket(); order(b) < order(bucket) {
			bucket = b
		}
	}
	return bucket, found
}

// Reason returns the fields by which a hit was found in its closest tier, and the bucket to which it belongs. The score
// determines the tier. The fields of the tier's clauses are compared with the card. A name that matches by sound or
// with a typing error is a reason only if there is no other.
func (p *Plan) Reason(card *userindex.Card, score float64) (search.Bucket, []search.Field) {
	if p.agreeing != nil {
		return search.Patient, p.agreed(card, score)
	}
	t := tierOf(score)
	tiers := []tier{t}
	if t == tierMixed { // an identifier with other separators is also found by its parts
		tiers = []tier{tierJoined, tierMixed}
	}
	for _, of := range tiers {
		var shown, guessed fields
		p.explain(card, of, &shown, &guessed)
		if b, found := shown.list(); len(found) > 0 {
			return b, found
		}
		if of != t {
			continue
		}
		if b, found := guessed.list(); len(found) > 0 {
			return b, found
		}
	}
	return p.byTier(card, t)
}

func (p *Plan) explain(card *userindex.Card, of tier, shown, guessed *fields) {
	for i := range p.clauses {
		if c := &p.clauses[i]; c.tier == of {
			note(c.field, &c.found, card, shown, guessed)
		}
	}
	for i := range p.byWord {
		if e := &p.byWord[i]; e.tier == of {
			for _, w := range e.words {
				w.explain(card, shown)
			}
		}
	}
}

func note(f search.Field, found *Query, card *userindex.Card, shown, guessed *fields) {
	switch is, sure := found.shows(card); {
	case is:
		shown.add(f)
	case !sure:
		guessed.add(f)
	}
}

// explain adds the fields in which the card has the word or, if there are none, those in which it may be.
func (w word) explain(card *userindex.Card, shown *fields) {
	var seen, guessed fields
	for i := range w {
		note(w[i].field, &w[i].found, card, &seen, &guessed)
	}
	if seen == (fields{}) {
		seen = guessed
	}
	for i, is := range seen {
		shown[i] = shown[i] || is
	}
}

// agreed returns the fields that are equal in two registrations. Whether the names match is derived from the score; see
// Duplicates.
func (p *Plan) agreed(card *userindex.Card, score float64) []search.Field {
	var all fields
	for i := range p.agreeing {
		if is, _ := p.agreeing[i].found.shows(card); is {
			all.add(p.agreeing[i].field)
		}
	}
	if t := tierOf(score); t != tierWhole || score >= (1+halfNamed/2)*t.score() {
		all.add(search.FullName)
	}
	_, found := all.list()
	return found
}

// byTier returns the reason for a hit that cannot be explained by the card, such as an old entry of a long list, or a
// letter that only the engine folds.
func (p *Plan) byTier(card *userindex.Card, t tier) (search.Bucket, []search.Field) {
	var may []search.Field
	for i := range p.clauses {
		if c := &p.clauses[i]; c.tier == t {
			may = append(may, c.field)
		}
	}
	for i := range p.byWord {
		if e := &p.byWord[i]; e.tier == t {
			may = append(may, e.words[0][0].field)
		}
	}
	if len(may) == 0 {
		return search.Patient, []search.Field{search.FullName}
	}
	long := func(f search.Field) bool { return len(values(card, string(f))) == userindex.MaxShown }
	f := may[max(0, slices.IndexFunc(may, long))]
	return f.Bucket(), []search.Field{f}
}
