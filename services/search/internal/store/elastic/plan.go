package elastic

import (
	"slices"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// plan is all the ways in which a text may find a patient.
type plan struct {
	clauses []clause
	byWord  []wordly
	whole   bool // every field is compared
	// agreeing are what the search for duplicates compares: those that hold are why a hit was found.
	agreeing []sameness
}

// wordly says how each word of the text may be found; every word has to be.
type wordly struct {
	tier  tier
	words []word
	least int // how many words have to be found at least; 0: every one
}

// add lets the text be compared word by word; no words: it is not.
func (p *plan) add(t tier, words []word) {
	if len(words) > 0 {
		p.byWord = append(p.byWord, wordly{tier: t, words: words})
	}
}

// clause is one way.
type clause struct {
	tier  tier
	field search.Field
	found query
	// nearer ranks the hits of the clause: the fractions are added to its score and sum to less than 1.
	nearer []nearer
}

type nearer struct {
	found    query
	fraction float64
}

// word is one word of the text: the places in which it may be found.
type word []leaf

type leaf struct {
	field    search.Field
	found    query
	fraction float64 // of the score of the tier, less than 1: whole words before beginnings
	nearer   []nearer
}

// atLeast finds so many of the words, one of them by more than its first letter.
func atLeast(least int, of []word) query {
	q := query{kind: most, least: least}
	for _, w := range of {
		var places []query
		for i := range w {
			places = append(places, w[i].found)
		}
		q.of, q.more = append(q.of, either(places...)), append(q.more, w.exactly()...)
	}
	return q
}

// exactly are the places that are enough by themselves to tell who is meant.
func (w word) exactly() []query {
	var all []query
	for i := range w {
		if w[i].fraction >= 0 {
			all = append(all, w[i].found)
		}
	}
	return all
}

func (p *plan) empty() bool { return len(p.clauses) == 0 && len(p.byWord) == 0 }

// query scores by the best of the ways. A text that any field may hold is compared with the families of fields.
func (p *plan) query(old bool) query {
	at := layout{old: old, family: p.whole}
	plain := make([]way, 0, len(p.clauses))
	var rankings []query
	for i := range p.clauses {
		c := &p.clauses[i]
		if len(c.nearer) == 0 {
			plain = append(plain, way{&c.found, c.tier.score()})
			continue
		}
		rankings = append(rankings, c.ranking())
	}
	ways := append(merge(plain, at), placed(rankings, at)...)
	for i := range p.byWord {
		ways = append(ways, p.byWord[i].query(at))
	}
	return join(best, ways)
}

// ranking is a clause whose hits are ranked.
func (c *clause) ranking() query {
	return ranking(c.found, c.tier.score(), c.tier.score(), c.nearer)
}

// ranking scores what is found, and adds a fraction of each for what is nearer.
func ranking(found query, score, each float64, of []nearer) query {
	r := query{kind: ranked, of: []query{scored(found, score)}}
	for _, n := range of {
		r.more = append(r.more, scored(n.found, n.fraction*each))
	}
	return r
}

// query scores with the mean of the words.
func (e *wordly) query(at layout) query {
	share := e.tier.score() / float64(len(e.words))
	r := query{kind: ranked, of: make([]query, 0, len(e.words))}
	if e.least > 0 {
		r = query{kind: most, least: e.least}
	}
	for _, w := range e.words {
		places := make([]way, 0, len(w))
		var rankings []query
		for i := range w {
			score := share * (1 + w[i].fraction)
			if len(w[i].nearer) == 0 {
				places = append(places, way{&w[i].found, score})
				continue
			}
			rankings = append(rankings, ranking(w[i].found, score, share, w[i].nearer))
		}
		r.of = append(r.of, join(best, append(merge(places, at), placed(rankings, at)...)))
		if e.least > 0 {
			r.more = append(r.more, w.exactly()...)
		}
	}
	return r
}

// group is what puts a hit into a bucket, unless an earlier group did.
type group struct {
	bucket search.Bucket
	found  []query
}

// groups returns them in the order in which they decide: by rank, then in the order of the buckets. Hits of the last
// rank are told apart by words alone: whoever is no hit of the ranks before was found by mixed or by sound, and a sound
// is a name.
func (p *plan) groups() []group {
	var all [ranks][]group
	add := func(t tier, f search.Field, q query) {
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

// order is the place of a bucket among those that compete for a hit.
func order(b search.Bucket) int { return slices.Index(search.Buckets(), b) }
