package elastic

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/labplatform/labplatform/services/search/internal/ranking"
)

// appendQuery appends a query as JSON. Texts are literals and never parsed as a query language.
func appendQuery(b []byte, q *ranking.Query) []byte {
	switch q.Kind {
	case ranking.Equals, ranking.Corrected:
		return appendTerms(b, q)
	case ranking.AllWords:
		if terms := q.Terms(); len(terms) > 0 {
			return appendAll(b, q.Field, terms)
		}
		return appendText(b, q, `{"match":{`, `,"operator":"and"}}}`)
	case ranking.Adjacent:
		return appendText(b, q, `{"match_phrase":{`, `}}}`)
	case ranking.Similar:
		return appendText(b, q, `{"match":{`, `,"operator":"and","fuzziness":2,"prefix_length":1,"max_expansions":50}}}`)
	case ranking.Begins:
		b = append(quote(append(b, `{"prefix":{`...), q.Field), ':')
		return append(quote(b, q.Texts[0]), `}}`...)
	case ranking.InYear:
		b = append(quote(append(b, `{"range":{`...), q.Field), `:{"gte":"`...)
		return append(append(append(append(b, q.Texts[0]...), `-01-01","lte":"`...), q.Texts[0]...), `-12-31"}}}`...)
	case ranking.AnyOf:
		return append(appendList(append(b, `{"bool":{"should":`...), q.Of), `}}`...)
	case ranking.AllOf:
		return append(appendList(append(b, `{"bool":{"filter":`...), q.Of), `}}`...)
	case ranking.Except:
		b = appendList(append(b, `{"bool":{"must":`...), q.Of)
		return append(appendList(append(b, `,"must_not":`...), q.More), `}}`...)
	case ranking.Constant:
		b = appendQuery(append(b, `{"constant_score":{"filter":`...), &q.Of[0])
		return append(appendNumber(append(b, `,"boost":`...), q.Score), `}}`...)
	case ranking.Best:
		return append(appendList(append(b, `{"dis_max":{"queries":`...), q.Of), `}}`...)
	case ranking.Ranked:
		b = appendList(append(b, `{"bool":{"must":`...), q.Of)
		if len(q.More) > 0 {
			b = appendList(append(b, `,"should":`...), q.More)
		}
		return append(b, `}}`...)
	case ranking.Most:
		b = appendList(append(b, `{"bool":{"should":`...), q.Of)
		b = strconv.AppendInt(append(b, `,"minimum_should_match":`...), int64(q.Least), 10)
		b = appendList(append(b, `,"filter":{"bool":{"should":`...), q.More)
		return append(b, `}}}}`...)
	}
	return b
}

func appendTerms(b []byte, q *ranking.Query) []byte {
	if len(q.Texts) == 1 {
		b = append(quote(append(b, `{"term":{`...), q.Field), ':')
		return append(quote(b, q.Texts[0]), `}}`...)
	}
	b = append(quote(append(b, `{"terms":{`...), q.Field), ':')
	open := byte('[')
	for _, text := range q.Texts {
		b = quote(append(b, open), text)
		open = ','
	}
	return append(b, `]}}`...)
}

// appendAll appends a query that requires all of the terms.
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

func appendText(b []byte, q *ranking.Query, before, after string) []byte {
	b = append(quote(append(b, before...), q.Field), `:{"query":`...)
	return append(quote(b, q.Texts[0]), after...)
}

func appendList(b []byte, queries []ranking.Query) []byte {
	open := byte('[')
	for i := range queries {
		b = appendQuery(append(b, open), &queries[i])
		open = ','
	}
	return append(b, ']')
}

func appendNumber(b []byte, n float64) []byte { return strconv.AppendFloat(b, n, 'g', -1, 64) }

// quote appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
