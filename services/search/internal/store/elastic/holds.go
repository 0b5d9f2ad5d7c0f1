package elastic

import (
	"slices"
	"strings"
)

// holds tells whether the engine finds d by the query.
func (q *query) holds(d *document) bool {
	switch q.kind {
	case anyOf, allOf:
		for i := range q.of {
			if q.of[i].holds(d) == (q.kind == anyOf) {
				return q.kind == anyOf
			}
		}
		return q.kind == allOf
	case most:
		return q.holdsMost(d)
	}
	if q.asked == nil {
		q.asked = q.analyse()
	}
	switch {
	case q.asked.analysis == nil:
		return false
	case q.asked.any != nil:
		return q.asked.any(d.source, q.asked.terms)
	case !q.mayHold(d):
		return false
	}
	terms := d.termsOf(q.asked.analysis)
	switch q.kind {
	case equals:
		return slices.ContainsFunc(q.asked.terms, func(asked string) bool { return slices.Contains(terms, asked) })
	case begins, inYear:
		return has(terms, q.asked.terms, strings.HasPrefix)
	case similar:
		return has(terms, q.asked.terms, twoErrors)
	}
	return has(terms, q.asked.terms, q.asked.like)
}

func (q *query) holdsMost(d *document) bool {
	held := 0
	for i := range q.of {
		if q.of[i].holds(d) {
			held++
		}
	}
	for i := range q.more {
		if q.more[i].holds(d) {
			return held >= q.least
		}
	}
	return false
}

func (q *query) analyse() *asking {
	a := &asking{analysis: analyses[q.field]}
	if a.analysis == nil {
		return a
	}
	for _, text := range q.texts {
		a.terms = append(a.terms, a.asked(text)...)
	}
	return a
}

// mayHold is false when the values show already that none of their terms is asked for. Most fields of most hits end
// here, without the work of taking their values apart.
func (q *query) mayHold(d *document) bool {
	if !q.asked.pieces || q.kind == similar {
		return true
	}
	values := d.valuesOf(q.asked.analysis)
	may := func(asked string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return mayHaveTerm(v, asked) })
	}
	if q.kind == equals { // any of them is enough
		return slices.ContainsFunc(q.asked.terms, may)
	}
	return !slices.ContainsFunc(q.asked.terms, func(asked string) bool { return !may(asked) })
}

// has tells whether each of asked has a term like it.
func has(terms, asked []string, like func(term, asked string) bool) bool {
	for _, a := range asked {
		if !slices.ContainsFunc(terms, func(t string) bool { return like(t, a) }) {
			return false
		}
	}
	return len(asked) > 0
}

const maxErrors = 2

// twoErrors tells whether two words differ by at most two letters that are wrong, missing, added or exchanged with
// their neighbour, none of them the first.
func twoErrors(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) == 0 || len(y) == 0 || x[0] != y[0] || max(len(x)-len(y), len(y)-len(x)) > maxErrors {
		return false
	}
	x, y = x[1:], y[1:]
	var before []int // the row above the one above
	above := make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			wrong := 1
			if x[i] == y[j] {
				wrong = 0
			}
			row[j+1] = min(above[j]+wrong, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(y)] <= maxErrors
}
