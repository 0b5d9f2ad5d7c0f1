package ranking

import "github.com/labplatform/labplatform/services/search/internal/search"

// Query is a query to the search engine, in the form of a tree. Its texts are literals and never parsed as a query
// language.
type Query struct {
	Kind  Kind
	Field string
	Texts []string // texts to compare; several only with Equals and Corrected
	Score float64  // for Constant
	Of    []Query
	More  []Query // with Ranked: only add to the score; with Except: must not match; with Most: at least one must match
	Least int     // for Most
	Heard string  // the text that Texts sound like, kept because the older schema has other sound forms
}

// Kind is the way in which a query compares texts or combines other queries.
type Kind uint8

// Kinds of queries.
const (
	Equals    Kind = iota // the field equals one of Texts
	AllWords              // the field contains all words of the text, in any order
	Adjacent              // like AllWords, but adjacent and in order
	Similar               // like AllWords, but each with up to two typing errors, none in the first letter
	Corrected             // the field contains one of Texts, which are corrections of a typed word
	Begins                // a keyword, or a word of a name, begins with the text
	InYear                // a date is in the given year
	AnyOf
	AllOf
	Except   // matches the first query but none of More
	Constant // all hits of the query have the same score
	Best     // matches any of the queries, with the best score
	Ranked   // matches all queries and adds their scores
	Most     // matches at least Least queries and adds their scores
)

// minTwo is the minimum length of a word that may have two typing errors.
const minTwo = 8

func term(field, value string) Query {
	return Query{Kind: Equals, Field: field, Texts: []string{value}}
}

// equal returns a query for values equal to any of values.
func equal(field string, values []string) Query {
	return Query{Kind: Equals, Field: field, Texts: values}
}

func compare(kind Kind, field, text string) Query {
	return Query{Kind: kind, Field: field, Texts: []string{text}}
}

func match(field, text string) Query { return compare(AllWords, field, text) }

// join combines queries into one. A single query is returned unchanged.
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

// Terms returns the terms into which the engine would split the text, which saves their analysis in the engine. It
// returns nil if only the engine can split it.
func (q *Query) Terms() []string { return plainTerms(q.Field, q.Texts[0]) }
