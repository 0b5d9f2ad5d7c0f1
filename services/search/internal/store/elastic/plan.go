package elastic

import (
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// plan is all the ways in which a text may find a patient.
type plan struct {
	clauses []clause
	// mixed says how each word may be found; every word has to be. Empty: the text is not compared word by word.
	mixed  []word
	byWord tier // of mixed
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
}

func (p *plan) empty() bool { return len(p.clauses) == 0 && len(p.mixed) == 0 }

// query scores by the best of the ways.
func (p *plan) query() query {
	var ways []query
	for _, c := range p.clauses {
		ways = append(ways, c.query())
	}
	if len(p.mixed) > 0 {
		ways = append(ways, p.everyWord())
	}
	return best(ways)
}

func (c *clause) query() query {
	q := scored(c.found, c.tier.score())
	q["constant_score"].(query)["_name"] = c.tier.String() + "/" + string(c.field) //nolint:forcetypeassert // made above
	if len(c.nearer) == 0 {
		return q
	}
	var more []query
	for _, n := range c.nearer {
		more = append(more, scored(n.found, n.fraction*c.tier.score()))
	}
	return query{"bool": query{"must": []query{q}, "should": more}}
}

// everyWord scores with the mean of the words.
func (p *plan) everyWord() query {
	share := p.byWord.score() / float64(len(p.mixed))
	var all []query
	for n, w := range p.mixed {
		var places []query
		for i, l := range w {
			q := scored(l.found, share*(1+l.fraction))
			q["constant_score"].(query)["_name"] = fmt.Sprintf("%s/%s/%d/%d", p.byWord, l.field, n, i) //nolint:forcetypeassert // made above
			places = append(places, q)
		}
		all = append(all, best(places))
	}
	return query{"bool": query{"must": all, "_name": p.byWord.String()}}
}

// group is what puts a hit into a bucket, unless an earlier group did.
type group struct {
	bucket search.Bucket
	found  []query
}

// groups returns them in the order in which they decide: by rank, then in the order of the buckets. Hits of the last rank
// are told apart by words alone: whoever is no hit of the ranks before was found by mixed or by sound, and a sound is a name.
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
	for _, w := range p.mixed {
		for _, l := range w {
			add(p.byWord, l.field, l.found)
		}
	}
	for _, of := range all {
		slices.SortFunc(of, func(a, b group) int { return order(a.bucket) - order(b.bucket) })
	}
	return slices.Concat(all[:]...)
}

// order is the place of a bucket among those that compete for a hit.
func order(b search.Bucket) int { return slices.Index(search.Buckets(), b) }
