package ranking

import "github.com/labplatform/labplatform/services/search/internal/search"

// Query is a query of the search engine as a tree. Its texts are literals, never parsed as a query language.
type Query struct {
	Kind  Kind
	Field string
	Texts []string // texts to compare; one, except for Equals and Corrected
	Score float64  // for Constant
	Of    []Query
	More  []Query // for Ranked: only adds to the score; for Except: must not match; for Most: at least one must match
	Least int     // for Most
	Heard string  // the text that Texts sound like, because the older schema has other sound forms
}

// Kind is how a query compares texts or combines other queries.
type Kind uint8

// Kinds of queries.
const (
	Equals    Kind = iota // the field holds one of Texts
	AllWords              // the field holds all words of the text, in any order
	Adjacent              // as AllWords, but next to each other and in order
	Similar               // as AllWords, each with at most two typing errors, none in its first letter
	Corrected             // the field holds one of Texts, which are corrections of a typed word
	Begins                // a keyword begins with the text
	InYear                // a date is in the year given as text
	AnyOf
	AllOf
	Except   // matches the first query and none of More
	Constant // all hits of the query have the same score
	Best     // matches any query; the best score counts
	Ranked   // matches all queries; their scores are added
	Most     // matches at least Least queries; their scores are added
)

// minTwo is the minimum number of letters of a word with two typing errors.
const minTwo = 8

func term(field, value string) Query {
	return Query{Kind: Equals, Field: field, Texts: []string{value}}
}

// equal returns a query for any of values.
func equal(field string, values []string) Query {
	return Query{Kind: Equals, Field: field, Texts: values}
}

func compare(kind Kind, field, text string) Query {
	return Query{Kind: kind, Field: field, Texts: []string{text}}
}

func match(field, text string) Query { return compare(AllWords, field, text) }

// join combines queries into one. It returns a single query unchanged.
func join(kind Kind, queries []Query) Query {
	if len(queries) == 1 {
		return queries[0]
	}
	return Query{Kind: kind, Of: queries}
}

func either(queries ...Query) Query { return join(AnyOf, queries) }
func every(queries ...Query) Query  { return join(AllOf, queries) }

func scored(q Query, score float64) Query { return Query{Kind: Constant, Score: score, Of: []Query{q}} }

// OfUsers returns a query for patients by id.
func OfUsers(ids []int64) Query { return equal(string(search.UserID), numbers(ids...)) }

// Terms returns the terms into which the engine would split the text, so that it need not analyze it. It returns nil if
// only the engine can do that.
func (q *Query) Terms() []string { return plainTerms(q.Field, q.Texts[0]) }
