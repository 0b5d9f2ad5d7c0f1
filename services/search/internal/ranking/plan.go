package ranking

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Plan contains all ways in which a text can find a patient.
type Plan struct {
	clauses []clause
	byWord  []wordly
	whole   bool // all fields are searched
	// agreeing are the fields compared in a search for duplicates. The equal ones are the reason of a hit.
	agreeing []sameness
	names    []string // words of the name, in a search for duplicates
	asked    userindex.Person
}

// wordly finds patients by the words of the text. If least is 0, every word must be found.
type wordly struct {
	tier  tier
	words []word
	least int // minimum number of words to find; 0: all
}

// add adds a word-by-word comparison if there are words.
func (p *Plan) add(t tier, words []word) {
	if len(words) > 0 {
		p.byWord = append(p.byWord, wordly{tier: t, words: words})
	}
}

// clause is one way to find a patient.
type clause struct {
	tier  tier
	field search.Field
	found Query
	// nearer ranks the hits of the clause. Its fractions are added to the score; their sum is below 1.
	nearer []nearer
}

type nearer struct {
	found    Query
	fraction float64
}

// word is a word of the text, represented by the places in which it may be found.
type word []leaf

type leaf struct {
	field search.Field
	found Query
	// fraction of the tier's score, below 1, so that whole words rank above prefixes; negative for initials
	fraction float64
	nearer   []nearer
}

// atLeast returns a query for patients with at least least of the words, at least one of them by more than an initial.
func atLeast(least int, of []word) Query {
	q := Query{Kind: Most, Least: least}
	for _, w := range of {
		var places []Query
		for i := range w {
			places = append(places, w[i].found)
		}
		q.Of, q.More = append(q.Of, either(places...)), append(q.More, w.exactly()...)
	}
	return q
}

// exactly returns the places that suffice without another word.
func (w word) exactly() []Query {
	var all []Query
	for i := range w {
		if w[i].fraction >= 0 {
			all = append(all, w[i].found)
		}
	}
	return all
}

// With returns a plan that finds everything that p or other finds. p must not be used afterwards.
func (p *Plan) With(other *Plan) Plan {
	return Plan{
		clauses: append(p.clauses, other.clauses...), byWord: append(p.byWord, other.byWord...), whole: p.whole,
		asked: p.asked,
	}
}

// Empty reports whether the plan cannot find any patient.
func (p *Plan) Empty() bool { return len(p.clauses) == 0 && len(p.byWord) == 0 }

// Query returns the query of the plan. A hit has the score of its best match. If all fields are searched, fields of one
// kind are searched together. old is set if the index has the older schema.
func (p *Plan) Query(old bool) Query {
	at := layout{old: old, family: p.whole}
	plain := make([]way, 0, len(p.clauses))
	var rankings []Query
	for i := range p.clauses {
		c := &p.clauses[i]
		if len(c.nearer) == 0 {
			plain = append(plain, way{&c.found, c.tier.score()})
			continue
		}
		rankings = append(rankings, c.ranked())
	}
	ways := append(merge(plain, at), placed(rankings, at)...)
	for i := range p.byWord {
		ways = append(ways, p.byWord[i].query(at))
	}
	return join(Best, ways)
}

// ranked returns the query of a clause, including the ranking of hits.
func (c *clause) ranked() Query {
	return nearest(c.found, c.tier.score(), c.tier.score(), c.nearer)
}

// nearest returns a query with the score of found to which each matching comparison in nearer adds its fraction of
// each.
func nearest(found Query, score, each float64, of []nearer) Query {
	r := Query{Kind: Ranked, Of: []Query{scored(found, score)}}
	for _, n := range of {
		r.More = append(r.More, scored(n.found, n.fraction*each))
	}
	return r
}

// query returns a query that scores a hit with the mean over its words.
func (e *wordly) query(at layout) Query {
	share := e.tier.score() / float64(len(e.words))
	r := Query{Kind: Ranked, Of: make([]Query, 0, len(e.words))}
	if e.least > 0 {
		r = Query{Kind: Most, Least: e.least}
	}
	for _, w := range e.words {
		places := make([]way, 0, len(w))
		var rankings []Query
		for i := range w {
			score := share * (1 + w[i].fraction)
			if len(w[i].nearer) == 0 {
				places = append(places, way{&w[i].found, score})
				continue
			}
			rankings = append(rankings, nearest(w[i].found, score, share, w[i].nearer))
		}
		r.Of = append(r.Of, join(Best, append(merge(places, at), placed(rankings, at)...)))
		if e.least > 0 {
			r.More = append(r.More, placed(w.exactly(), at)...)
		}
	}
	return r
}

// group contains queries whose hits belong to a bucket, unless an earlier group finds them.
type group struct {
	bucket search.Bucket
	found  []Query
}

// groups returns the groups in the order in which they determine the bucket of a hit: by rank, then by bucket. In the
// last rank, only groups of single words do: its hits were found by mixed or by sound, and a sound belongs to a name.
func (p *Plan) groups() []group {
	var all [ranks][]group
	add := func(t tier, f search.Field, q Query) {
		of := &all[t.rank()]
		i := slices.IndexFunc(*of, func(g group) bool { return g.bucket == f.Bucket() })
		if i < 0 {
			i = len(*of)
			*of = append(*of, group{bucket: f.Bucket()})
		}
		(*of)[i].found = append((*of)[i].found, q)
	}
	for _, c := range p.clauses {
		add(c.tier, c.field, c.found)
	}
	for _, e := range p.byWord {
		for _, w := range e.words {
			for _, l := range w {
				add(e.tier, l.field, l.found)
			}
		}
	}
	for _, of := range all {
		slices.SortFunc(of, func(a, b group) int { return order(a.bucket) - order(b.bucket) })
	}
	return slices.Concat(all[:]...)
}

// order returns the position of a bucket among the buckets that compete for a hit.
func order(b search.Bucket) int { return slices.Index(search.Buckets(), b) }
