package ranking

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Plan is all the ways in which a text may find a patient.
type Plan struct {
	clauses []clause
	byWord  []wordly
	whole   bool // every field is compared
	// agreeing are what the search for duplicates compares: the ones that hold are why a hit was found.
	agreeing []sameness
	names    []string // of the person who may be a duplicate
	asked    userindex.Person
}

// wordly says how each word of the text may be found; every word has to be.
type wordly struct {
	tier  tier
	words []word
	least int // how many words have to be found at least; 0: every one
}

// add lets the text be compared word by word; no words: it is not.
func (p *Plan) add(t tier, words []word) {
	if len(words) > 0 {
		p.byWord = append(p.byWord, wordly{tier: t, words: words})
	}
}

// clause is one way.
type clause struct {
	tier  tier
	field search.Field
	found Query
	// nearer ranks the hits of the clause: the fractions are added to its score and sum to less than 1.
	nearer []nearer
}

type nearer struct {
	found    Query
	fraction float64
}

// word is one word of the text: the places in which it may be found.
type word []leaf

type leaf struct {
	field    search.Field
	found    Query
	fraction float64 // of the score of the tier, less than 1: whole words before beginnings
	nearer   []nearer
}

// atLeast finds so many of the words, one of them by more than its first letter.
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

// exactly are the places that are enough by themselves to tell who is meant.
func (w word) exactly() []Query {
	var all []Query
	for i := range w {
		if w[i].fraction >= 0 {
			all = append(all, w[i].found)
		}
	}
	return all
}

// With returns a plan that finds what either does; p is not used any more.
func (p *Plan) With(other *Plan) Plan {
	return Plan{
		clauses: append(p.clauses, other.clauses...), byWord: append(p.byWord, other.byWord...), whole: p.whole,
		asked: p.asked,
	}
}

// Empty reports whether there is no way to find anybody.
func (p *Plan) Empty() bool { return len(p.clauses) == 0 && len(p.byWord) == 0 }

// Query scores by the best of the ways. A text that any field may hold is compared with the families of fields. old:
// the index is of the older schema.
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

// ranked is a clause whose hits are ranked.
func (c *clause) ranked() Query {
	return nearest(c.found, c.tier.score(), c.tier.score(), c.nearer)
}

// nearest scores what is found, and adds a fraction of each for what is nearer.
func nearest(found Query, score, each float64, of []nearer) Query {
	r := Query{Kind: Ranked, Of: []Query{scored(found, score)}}
	for _, n := range of {
		r.More = append(r.More, scored(n.found, n.fraction*each))
	}
	return r
}

// query scores with the mean of the words.
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

// group is what puts a hit into a bucket, unless an earlier group did.
type group struct {
	bucket search.Bucket
	found  []Query
}

// groups returns them in the order in which they decide: by rank, then in the order of the buckets. Hits of the last
// rank are told apart by words alone: anyone who is no hit of the ranks before was found by mixed or by sound, and a
// sound is a name.
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

// order is the place of a bucket among the buckets that compete for a hit.
func order(b search.Bucket) int { return slices.Index(search.Buckets(), b) }
