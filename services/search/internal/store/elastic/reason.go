package elastic

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// table are all fields, in the order that answers keep.
var table = search.Explaining()

// finding collects what found a hit.
type finding struct {
	bucket  search.Bucket
	rank    int
	matched [32]bool // by the place in table
}

// add notes that a way of tier t found the hit in field f. A word of a text that was not found as a whole says only to
// which bucket the hit may belong.
func (g *finding) add(t tier, f search.Field, matched bool) {
	place := slices.Index(table, f)
	g.matched[place] = g.matched[place] || matched
	rank := t.rank()
	if b := f.Bucket(); rank < g.rank || rank == g.rank && order(b) < order(g.bucket) {
		g.bucket, g.rank = b, rank
	}
}

// tells reports whether such a way could add anything.
func (g *finding) tells(t tier, f search.Field) bool {
	return t.rank() <= g.rank || !g.matched[slices.Index(table, f)]
}

// reason tells which fields of a hit the plan compared with success, and to which bucket the hit belongs: the one of
// the closest tier, among several the first of search.Buckets. The engine does not say; the plan's queries are asked
// again of the document, but for those of a tier that the score does not reach: the engine found nothing by them.
func (p *plan) reason(d *document, score float64) (search.Bucket, []search.Field) {
	if p.agreeing != nil {
		return search.Patient, p.agreed(d)
	}
	g := finding{bucket: search.Patient, rank: ranks}
	closest := tierOf(score)
	for i := range p.clauses {
		c := &p.clauses[i]
		if c.tier >= closest && g.tells(c.tier, c.field) && c.found.holds(d) {
			g.add(c.tier, c.field, true)
		}
	}
	for i := range p.byWord {
		p.byWord[i].explain(d, &g)
	}
	found := make([]search.Field, 0, 2)
	for i, f := range table {
		if g.matched[i] {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return p.byScore(d.source, score)
	}
	return g.bucket, found
}

// agreed tells in what two registrations agree.
func (p *plan) agreed(d *document) []search.Field {
	var found []search.Field
	for _, f := range table {
		for i := range p.agreeing {
			if a := &p.agreeing[i]; a.field == f && a.found.holds(d) {
				found = append(found, f)
			}
		}
	}
	return found
}

// explain notes where the words were found.
func (e *wordly) explain(d *document, g *finding) {
	var places []search.Field
	words := 0
	for _, w := range e.words {
		before := len(places)
		for i := range w {
			if w[i].found.holds(d) {
				places = append(places, w[i].field)
			}
		}
		if len(places) > before {
			words++
		}
	}
	for _, f := range places {
		g.add(e.tier, f, words == len(e.words) || e.least > 0 && words >= e.least)
	}
}

// byScore answers for a hit that the engine found and the card does not explain: by an old entry of a long list, or
// where the engine folds a letter that we do not know. The score tells the tier.
func (p *plan) byScore(s *source, score float64) (search.Bucket, []search.Field) {
	t := tierOf(score)
	var fields []search.Field
	for i := range p.clauses {
		if c := &p.clauses[i]; c.tier == t {
			fields = append(fields, c.field)
		}
	}
	for i := range p.byWord {
		if e := &p.byWord[i]; e.tier == t {
			fields = append(fields, e.words[0][0].field)
		}
	}
	if len(fields) == 0 {
		return search.Patient, []search.Field{search.FullName}
	}
	f := fields[0]
	if i := slices.IndexFunc(
		fields,
		func(f search.Field) bool { return len(s.values(string(f))) == userindex.MaxShown },
	); i >= 0 {
		f = fields[i]
	}
	return f.Bucket(), []search.Field{f}
}
