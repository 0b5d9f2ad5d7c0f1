package elastic

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// query is a query of the engine. Values are literals; nothing here is ever parsed.
type query struct {
	kind  kind
	field string
	texts []string // what is compared; one, but for terms
	score float64  // of constant
	of    []query
	more  []query // of ranked: what only adds to the score; of except: what must not be found; of most: one must be
	least int     // of most
}

type kind uint8

const (
	equals   kind = iota // the field holds one of texts
	allWords             // the field holds all words of the text, in any order
	adjacent             // the same, next to each other
	similar              // the same, each with at most two typing errors, none of them in its first letter
	begins               // a keyword begins with the text
	inYear               // a date is in the year
	anyOf
	allOf
	except   // the first of the queries, and none of more
	constant // every document that the query finds has the same score
	best     // scores a document as the best of the queries does
	ranked   // all of the queries, whose scores are added
	most     // at least so many of the queries, whose scores are added
)

// minTwo is how many letters a word needs to have two typing errors.
const minTwo = 8

func term(field, value string) query {
	return query{kind: equals, field: field, texts: []string{value}}
}

// equal finds any of values.
func equal(field string, values []string) query {
	return query{kind: equals, field: field, texts: values}
}

func compare(kind kind, field, text string) query {
	return query{kind: kind, field: field, texts: []string{text}}
}

func match(field, text string) query { return compare(allWords, field, text) }

// join makes one query of several; one alone stays what it is.
func join(kind kind, queries []query) query {
	if len(queries) == 1 {
		return queries[0]
	}
	return query{kind: kind, of: queries}
}

func either(queries ...query) query { return join(anyOf, queries) }
func every(queries ...query) query  { return join(allOf, queries) }

func scored(q query, score float64) query { return query{kind: constant, score: score, of: []query{q}} }

// append writes the query as JSON.
func (q *query) append(b []byte) []byte {
	switch q.kind {
	case equals:
		return q.appendTerms(b)
	case allWords:
		if terms := plainTerms(q.field, q.texts[0]); len(terms) > 0 {
			return appendAll(b, q.field, terms)
		}
		return q.appendText(b, `{"match":{`, `,"operator":"and"}}}`)
	case adjacent:
		return q.appendText(b, `{"match_phrase":{`, `}}}`)
	case similar:
		return q.appendText(b, `{"match":{`, `,"operator":"and","fuzziness":2,"prefix_length":1,"max_expansions":50}}}`)
	case begins:
		b = append(quote(append(b, `{"prefix":{`...), q.field), ':')
		return append(quote(b, q.texts[0]), `}}`...)
	case inYear:
		b = append(quote(append(b, `{"range":{`...), q.field), `:{"gte":"`...)
		return append(append(append(append(b, q.texts[0]...), `-01-01","lte":"`...), q.texts[0]...), `-12-31"}}}`...)
	case anyOf:
		return append(appendList(append(b, `{"bool":{"should":`...), q.of), `}}`...)
	case allOf:
		return append(appendList(append(b, `{"bool":{"filter":`...), q.of), `}}`...)
	case except:
		b = appendList(append(b, `{"bool":{"must":`...), q.of)
		return append(appendList(append(b, `,"must_not":`...), q.more), `}}`...)
	case constant:
		b = q.of[0].append(append(b, `{"constant_score":{"filter":`...))
		return append(appendNumber(append(b, `,"boost":`...), q.score), `}}`...)
	case best:
		return append(appendList(append(b, `{"dis_max":{"queries":`...), q.of), `}}`...)
	case ranked:
		b = appendList(append(b, `{"bool":{"must":`...), q.of)
		if len(q.more) > 0 {
			b = appendList(append(b, `,"should":`...), q.more)
		}
		return append(b, `}}`...)
	case most:
		b = appendList(append(b, `{"bool":{"should":`...), q.of)
		b = strconv.AppendInt(append(b, `,"minimum_should_match":`...), int64(q.least), 10)
		b = appendList(append(b, `,"filter":{"bool":{"should":`...), q.more)
		return append(b, `}}}}`...)
	}
	return b
}

func (q *query) appendTerms(b []byte) []byte {
	if len(q.texts) == 1 {
		b = append(quote(append(b, `{"term":{`...), q.field), ':')
		return append(quote(b, q.texts[0]), `}}`...)
	}
	b = append(quote(append(b, `{"terms":{`...), q.field), ':')
	open := byte('[')
	for _, text := range q.texts {
		b = quote(append(b, open), text)
		open = ','
	}
	return append(b, `]}}`...)
}

// appendAll finds what holds all of the terms.
func appendAll(b []byte, field string, terms []string) []byte {
	if len(terms) > 1 {
		b = append(b, `{"bool":{"filter":[`...)
	}
	for i, t := range terms {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quote(append(b, `{"term":{`...), field), ':')
		b = append(quote(b, t), `}}`...)
	}
	if len(terms) > 1 {
		b = append(b, `]}}`...)
	}
	return b
}

func (q *query) appendText(b []byte, before, after string) []byte {
	b = append(quote(append(b, before...), q.field), `:{"query":`...)
	return append(quote(b, q.texts[0]), after...)
}

func appendList(b []byte, queries []query) []byte {
	open := byte('[')
	for i := range queries {
		b = queries[i].append(append(b, open))
		open = ','
	}
	return append(b, ']')
}

func appendNumber(b []byte, n float64) []byte { return strconv.AppendFloat(b, n, 'g', -1, 64) }

// quote writes s as JSON; bytes that are not UTF-8 become U+FFFD.
func quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
