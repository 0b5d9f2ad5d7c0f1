package ranking

import "github.com/labplatform/labplatform/services/search/internal/search"

// Query is a query of the engine, as a tree. Values are literals; nothing here is ever parsed.
type Query struct {
	Kind  Kind
	Field string
	Texts []string // what is compared; one, but for terms
	Score float64  // of Constant
	Of    []Query
	More  []Query // of Ranked: what only adds to the score; of Except: what must not be found; of Most: one must be
	Least int     // of Most
	Heard string  // what Texts sound like; the older schema has other forms of it
}

// Kind is what a query compares, or how it joins others.
type Kind uint8

// The kinds.
const (
	Equals    Kind = iota // the field holds one of Texts
	AllWords              // the field holds all words of the text, in any order
	Adjacent              // the same, next to each other
	Similar               // the same, each with at most two typing errors, none of them in its first letter
	Corrected             // the field holds one of Texts, in which a typing error is put right
	Begins                // a keyword begins with the text
	InYear                // a date is in the year
	AnyOf
	AllOf
	Except   // the first of the queries, and none of More
	Constant // every document that the query finds has the same score
	Best     // scores a document as the best of the queries does
	Ranked   // all of the queries, whose scores are added
	Most     // at least so many of the queries, whose scores are added
)

// minTwo is how many letters a word needs to have two typing errors.
const minTwo = 8

func term(field, value string) Query {
	return Query{Kind: Equals, Field: field, Texts: []string{value}}
}

// equal finds any of values.
func equal(field string, values []string) Query {
	return Query{Kind: Equals, Field: field, Texts: values}
}

func compare(kind Kind, field, text string) Query {
	return Query{Kind: kind, Field: field, Texts: []string{text}}
}

func match(field, text string) Query { return compare(AllWords, field, text) }

// join makes one query of several; one alone stays what it is.
func join(kind Kind, queries []Query) Query {
	if len(queries) == 1 {
		return queries[0]
	}
	return Query{Kind: kind, Of: queries}
}

func either(queries ...Query) Query { return join(AnyOf, queries) }
func every(queries ...Query) Query  { return join(AllOf, queries) }

func scored(q Query, score float64) Query { return Query{Kind: Constant, Score: score, Of: []Query{q}} }

// OfUsers finds patients by their numbers.
func OfUsers(ids []int64) Query { return equal(string(search.UserID), numbers(ids...)) }

// Terms are what the engine would make of the text, so that it need not. Nil when it knows more of that than we.
func (q *Query) Terms() []string { return plainTerms(q.Field, q.Texts[0]) }
