package document

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Schema is the schema of a new index, OldSchema the oldest that is still written. An index with an older one is
// rejected: rebuild creates a new index.
const (
	Schema    = userindex.Schema
	OldSchema = userindex.OldSchema
)

// VersionDomain names the source of the document versions. Versions of two domains must never be in one index.
const VersionDomain = "user_meta.rev"

// MaxResultWindow is how many hits deep a search may page.
const MaxResultWindow = 10_000

// kind is the mapping of a field. It has an index for searching, or a column for sorting, counting or ranking; most
// fields need only one of them, and each one left out makes writing a document faster.
type kind func() object

type object = map[string]any

// found returns the mapping of a field that is only searched.
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

// ranking maps a time by which hits are ranked.
func ranking() object { return object{"type": "date", "format": "epoch_millis", "index": false} }

// identifier maps a value that is found only completely, but regardless of case and diacritics.
func identifier() object {
	f := found("keyword")
	f["normalizer"] = "folded"
	return f
}

// begun maps an identifier that is also found by its beginning.
func begun() object {
	f := identifier()
	f["fields"] = object{"prefix": grams("identifier_prefix", "identifier_prefix_query")}
	return f
}

// segment maps a value that is found by one of its parts between - / and ~.
func segment() object { return grams("segment", "segment") }

// numbered maps an identifier that can also be sorted as a number.
func numbered() object {
	f := identifier()
	f["fields"] = object{"number": object{"type": "long"}}
	return f
}

// segmented maps an identifier that is also found by one of its parts between - / and ~.
func segmented() object {
	f := identifier()
	f["fields"] = object{"segment": segment()}
	return f
}

// person maps a name, which is found by words in any order, by their beginnings, or completely.
func person() object {
	return object{"type": "text", "analyzer": "person", "fields": object{
		"keyword": identifier(),
		"prefix":  grams("person_prefix", "person_prefix_query"),
	}}
}

// form maps a value that is found only completely and unchanged; most are forms of package userindex.
func form() object { return found("keyword") }

// stored maps a value that is only returned. It has a column of its own, so that reading it does not need the complete
// document.
func stored() object { return object{"type": "binary", "doc_values": true} }

// joined maps a form of a name that is found by its beginning.
func joined() object { return grams("joined", "joined_query") }

// phone maps a phone number, which is found by its first digits, or by at least 4 of its last ones. Digits from its
// middle find it as well, because one of the indexed endings begins with them.
func phone() object {
	f := found("keyword")
	f["normalizer"] = "digits"
	f["fields"] = object{"ends": grams("phone_ends", "phone_query"), "prefix": grams("phone_prefix", "phone_prefix_query")}
	return f
}

// grams maps a text that is only tested for terms, without scores and positions.
func grams(analyzer, query string) object {
	return object{"type": "text", "analyzer": analyzer, "search_analyzer": query, "norms": false, "index_options": "docs"}
}

// analysis uses only tokenizers and filters of a plain server: three and five of them. Phone numbers are written as
// digits, but a search may contain other characters.
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

// Settings are the settings of an index that operators choose.
type Settings struct {
	Shards          int
	Replicas        int
	RefreshInterval time.Duration
}

// Index returns the request body that creates an index of the current schema. aliases may be nil; a value of true makes
// it a write alias.
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
	encoded, _ := json.Marshal(body) // maps, texts and numbers can always be encoded
	return encoded
}
