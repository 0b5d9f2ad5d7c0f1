package document

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Schema is the schema of new indexes. OldSchema is the oldest schema that is still written; an index with an older one
// is rejected and must be rebuilt.
const (
	Schema    = userindex.Schema
	OldSchema = userindex.OldSchema
)

// VersionDomain is the source of the document versions. Versions of two domains must never be mixed in one index.
const VersionDomain = "user_meta.rev"

// MaxResultWindow is the maximum number of hits that a search can page through.
const MaxResultWindow = 10_000

// kind is the mapping of a field. A field has an index for searching, or a column for sorting, counting or ranking.
// Most need only one of them; omitting the other makes writes faster.
type kind func() object

type object = map[string]any

// found returns the mapping of a field that can only be searched.
func found(name string) object { return object{"type": name, "doc_values": false} }

// kept returns the mapping of a field that is only stored in the document.
func kept(name string) object { return object{"type": name, "index": false, "doc_values": false} }

func integer() object     { return object{"type": "integer"} }
func integers() object    { return found("integer") }
func long() object        { return found("long") }
func boolean() object     { return found("boolean") }
func keptInteger() object { return kept("integer") }
func keptLong() object    { return kept("long") }

func day() object {
	f := found("date")
	f["format"] = "yyyy-MM-dd"
	return f
}

// ranking returns the mapping of a time by which hits are ranked.
func ranking() object { return object{"type": "date", "format": "epoch_millis", "index": false} }

// identifier returns the mapping of a value that is found only as a whole, ignoring case and diacritics.
func identifier() object {
	f := found("keyword")
	f["normalizer"] = "folded"
	return f
}

// begun returns the mapping of an identifier that is also found by a prefix.
func begun() object {
	f := identifier()
	f["fields"] = object{"prefix": grams("identifier_prefix", "identifier_prefix_query")}
	return f
}

// segment returns the mapping of a value that is found by one of its parts between - / and ~.
func segment() object { return grams("segment", "segment") }

// numbered returns the mapping of an identifier that can also be sorted as a number.
func numbered() object {
	f := identifier()
	f["fields"] = object{"number": object{"type": "long"}}
	return f
}

// segmented returns the mapping of an identifier that is also found by one of its parts between - / and ~.
func segmented() object {
	f := identifier()
	f["fields"] = object{"segment": segment()}
	return f
}

// person returns the mapping of a name, which is found by words in any order, by word prefixes, or as a whole.
func person() object {
	return object{"type": "text", "analyzer": "person", "fields": object{
		"keyword": identifier(),
		"prefix":  grams("person_prefix", "person_prefix_query"),
	}}
}

// form returns the mapping of a value that is found only by exact match, such as most forms of package userindex.
func form() object { return found("keyword") }

// stored returns the mapping of a value that is only returned. It has its own column, so that reading it does not load
// the complete document.
func stored() object { return object{"type": "binary", "doc_values": true} }

// joined returns the mapping of a form of a name that is found by a prefix.
func joined() object { return grams("joined", "joined_query") }

// phone returns the mapping of a phone number, which is found by its first digits, or by at least 4 of its last ones.
// All suffixes are indexed, so digits from its middle match as the prefix of a suffix.
func phone() object {
	f := found("keyword")
	f["normalizer"] = "digits"
	f["fields"] = object{"ends": grams("phone_ends", "phone_query"), "prefix": grams("phone_prefix", "phone_prefix_query")}
	return f
}

// grams returns the mapping of a text that is only matched against terms, without scores and positions.
func grams(analyzer, query string) object {
	return object{"type": "text", "analyzer": analyzer, "search_analyzer": query, "norms": false, "index_options": "docs"}
}

// analysis returns the analysis settings. They use only built-in tokenizers (three) and filters (five). Phone numbers
// are indexed as digits, but a query may contain other characters.
func analysis() object {
	custom := func(tokenizer string, characters []string, filters ...string) object {
		return object{"type": "custom", "tokenizer": tokenizer, "char_filter": characters, "filter": filters}
	}
	digits, dots := []string{"digits"}, []string{"dots"}
	return object{
		"char_filter": object{
			"digits":   object{"type": "pattern_replace", "pattern": "[^0-9]", "replacement": ""},
			"dots":     object{"type": "pattern_replace", "pattern": "[.]", "replacement": " "},
			"segments": object{"type": "pattern_replace", "pattern": "[-/~]", "replacement": " "},
		},
		"filter": object{
			"first_1_15": object{"type": "edge_ngram", "min_gram": 1, "max_gram": 15},
			"first_1_20": object{"type": "edge_ngram", "min_gram": 1, "max_gram": 20},
			"first_3_15": object{"type": "edge_ngram", "min_gram": 3, "max_gram": 15},
			"first_4_20": object{"type": "edge_ngram", "min_gram": 4, "max_gram": 20},
			"at_most_15": object{"type": "truncate", "length": 15},
			"at_most_20": object{"type": "truncate", "length": 20},
		},
		"analyzer": object{
			"person":                  custom("standard", dots, "lowercase", "asciifolding"),
			"person_prefix":           custom("standard", dots, "lowercase", "asciifolding", "first_1_15"),
			"person_prefix_query":     custom("standard", dots, "lowercase", "asciifolding", "at_most_15"),
			"identifier_prefix":       custom("keyword", nil, "lowercase", "asciifolding", "first_1_20"),
			"identifier_prefix_query": custom("keyword", nil, "lowercase", "asciifolding", "at_most_20"),
			"segment":                 custom("standard", []string{"segments"}, "lowercase", "asciifolding"),
			"joined":                  custom("keyword", nil, "first_1_20"),
			"joined_query":            custom("whitespace", nil, "at_most_20"),
			"phone_ends":              custom("keyword", nil, "reverse", "first_4_20", "reverse"),
			"phone_prefix":            custom("keyword", nil, "first_3_15"),
			"phone_prefix_query":      custom("keyword", digits, "at_most_15"),
			"phone_query":             custom("keyword", digits),
		},
		"normalizer": object{
			"folded": object{"type": "custom", "filter": []string{"lowercase", "asciifolding"}},
			"digits": object{"type": "custom", "char_filter": digits},
		},
	}
}

// Settings are the index settings chosen by operators.
type Settings struct {
	Shards          int
	Replicas        int
	RefreshInterval time.Duration
}

// Index returns the request body that creates an index of the current schema. aliases may be nil; true makes the alias
// a write alias.
func Index(s Settings, aliases map[string]bool) []byte {
	properties := object{}
	for _, f := range fieldsOf(Schema) {
		properties[f.name] = f.kind()
	}
	body := object{
		"settings": object{"index": object{
			"number_of_shards":   s.Shards,
			"number_of_replicas": s.Replicas,
			"refresh_interval":   fmt.Sprintf("%dms", s.RefreshInterval.Milliseconds()),
			"max_result_window":  MaxResultWindow,
		}, "analysis": analysis()},
		"mappings": object{
			"dynamic":    "strict",
			"_routing":   object{"required": true},
			"_meta":      object{"version_domain": VersionDomain, "schema": Schema},
			"properties": properties,
		},
	}
	if len(aliases) > 0 {
		named := object{}
		for alias, write := range aliases {
			named[alias] = object{"is_write_index": write}
		}
		body["aliases"] = named
	}
	encoded, _ := json.Marshal(body) // maps, strings and numbers can always be encoded
	return encoded
}
