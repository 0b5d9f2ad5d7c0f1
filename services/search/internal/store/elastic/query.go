package elastic

// query is a query of the engine. Values are literals; nothing here is ever parsed.
type query map[string]any

func term(field string, value any) query {
	return query{"term": query{field: query{"value": value}}}
}

// equal finds any of values.
func equal(field string, values []string) query {
	if len(values) == 1 {
		return term(field, values[0])
	}
	return query{"terms": query{field: values}}
}

// match finds all words of text, in any order, as the field analyses them.
func match(field, text string) query {
	return query{"match": query{field: query{"query": text, "operator": "and"}}}
}

// adjacent finds the words of text next to each other.
func adjacent(field, text string) query {
	return query{"match_phrase": query{field: query{"query": text}}}
}

// minTwo is how many letters a word needs to have two typing errors.
const minTwo = 8

// similar finds all words of text with two typing errors, none of them in the first letter.
func similar(field, text string) query {
	return query{
		"match": query{
			field: query{"query": text, "operator": "and", "fuzziness": 2, "prefix_length": 1, "max_expansions": 50},
		},
	}
}

// begins compares a keyword that has no field of beginnings.
func begins(field, text string) query {
	return query{"prefix": query{field: query{"value": text}}}
}

func exists(field string) query { return query{"exists": query{"field": field}} }

func anyOf(queries ...query) query {
	if len(queries) == 1 {
		return queries[0]
	}
	return query{"bool": query{"should": queries, "minimum_should_match": 1}}
}

func allOf(queries ...query) query {
	if len(queries) == 1 {
		return queries[0]
	}
	return query{"bool": query{"filter": queries}}
}

func not(q query) query { return query{"bool": query{"must_not": []query{q}}} }

// scored gives every document that q finds the same score.
func scored(q query, score float64) query {
	return query{"constant_score": query{"filter": q, "boost": score}}
}

// best scores a document as the best of queries does.
func best(queries []query) query {
	if len(queries) == 1 {
		return queries[0]
	}
	return query{"dis_max": query{"queries": queries}}
}
