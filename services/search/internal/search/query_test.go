package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

func ptr(n int) *int { return &n }

func TestARequestBecomesAQuery(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request search.Request
		want    search.Query
	}{
		"defaults":      {search.Request{Query: " rahul\tsha "}, search.Query{Text: "rahul sha", Key: "all", Fields: search.Fields(), Size: 10}},
		"a key":         {search.Request{Query: "9", Key: "contact"}, search.Query{Text: "9", Key: "contact", Fields: []search.Field{"contact", "alternate_contact"}, Size: 10}},
		"fewer fields":  {search.Request{Query: "r@x.in", Fields: []string{"email", "full_name"}}, search.Query{Text: "r@x.in", Key: "all", Fields: []search.Field{"full_name", "email"}, Size: 10}},
		"a page":        {search.Request{Query: "ab", Size: ptr(25), Page: ptr(3)}, search.Query{Text: "ab", Key: "all", Fields: search.Fields(), Size: 25, From: 50}},
		"the last page": {search.Request{Query: "ab", Size: ptr(100), From: ptr(9_900)}, search.Query{Text: "ab", Key: "all", Fields: search.Fields(), Size: 100, From: 9_900}},
		"composed":      {search.Request{Query: "Jose\u0301\u200b\x00"}, search.Query{Text: "José", Key: "all", Fields: search.Fields(), Size: 10}},
		"scanned":       {search.Request{Query: "]C0S-7812000\x1d"}, search.Query{Text: "S-7812000", Key: "all", Fields: search.Fields(), Size: 10}},
		"an address":    {search.Request{Query: "Asha <asha@x.in>"}, search.Query{Text: "Asha  asha@x.in", Key: "all", Fields: search.Fields(), Size: 10}},
		"other digits":  {search.Request{Query: "७७७५९–٤٥８"}, search.Query{Text: "77759-458", Key: "all", Fields: search.Fields(), Size: 10}},
		"literals":      {search.Request{Query: `%_*?"\`}, search.Query{Text: `%_*?"\`, Key: "all", Fields: search.Fields(), Size: 10}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := search.NewQuery(test.request, 10)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request search.Request
		field   string
		words   string
	}{
		"nothing":             {search.Request{Query: " \u200b "}, "query", "must not be empty"},
		"too long":            {search.Request{Query: strings.Repeat("ä", 129)}, "query", "at most 128"},
		"a name of a letter":  {search.Request{Query: "r", Key: "name"}, "query", "at least 2"},
		"an unknown key":      {search.Request{Query: "ab", Key: "phone"}, "search_key", "must be one of all, name, contact"},
		"an unknown field":    {search.Request{Query: "ab", Fields: []string{"fullname"}}, "search_fields", `no field "fullname"`},
		"a field outside":     {search.Request{Query: "ab", Key: "name", Fields: []string{"email"}}, "search_fields", `email is not searched by search_key "name"`},
		"no hits a page":      {search.Request{Query: "ab", Size: ptr(0)}, "size", "from 1 to 100"},
		"too many a page":     {search.Request{Query: "ab", Size: ptr(101)}, "size", "from 1 to 100"},
		"before the first":    {search.Request{Query: "ab", From: ptr(-1)}, "from", "from 0 to 9990"},
		"too deep":            {search.Request{Query: "ab", From: ptr(9_991)}, "from", "from 0 to 9990"},
		"page 0":              {search.Request{Query: "ab", Page: ptr(0)}, "page", "from 1 to 1000"},
		"a page far too deep": {search.Request{Query: "ab", Page: ptr(1 << 62)}, "page", "from 1 to 1000"},
		"a page too deep":     {search.Request{Query: "ab", Page: ptr(1001)}, "page", "from 1 to 1000"},
		"from and page":       {search.Request{Query: "ab", From: ptr(0), Page: ptr(1)}, "page", "not both"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := search.NewQuery(test.request, 10)
			e, ok := apperr.From(err)
			if !ok || e.Kind != apperr.Invalid || len(e.Fields) == 0 || e.Fields[0].Name != test.field || !strings.Contains(e.Fields[0].Message, test.words) {
				t.Fatalf("got %v with %+v", err, e)
			}
		})
	}
}

func TestEveryKeySearchesFieldsOfTheTableAndEveryFieldHasAKey(t *testing.T) {
	t.Parallel()
	reached := map[search.Field]bool{}
	for _, key := range search.Keys() {
		fields := key.Fields()
		if len(fields) == 0 {
			t.Errorf("%s searches nothing", key)
		}
		for _, f := range fields {
			if f.Bucket() == "" {
				t.Errorf("%s of %s is in no bucket", f, key)
			}
			if key != search.All {
				reached[f] = true
			}
		}
	}
	for _, f := range search.Explaining() {
		if !reached[f] {
			t.Errorf("no key but all searches %s", f)
		}
		if !slices.Contains(search.Buckets(), f.Bucket()) {
			t.Errorf("%s is in %q", f, f.Bucket())
		}
	}
}

func TestTooManyFieldsAreRefusedInOneSentence(t *testing.T) {
	t.Parallel()
	_, err := search.NewQuery(search.Request{Query: "asha", Key: "all", Fields: make([]string, 100_000)}, 10)
	if !apperr.Is(err, apperr.Invalid) || len(err.Error()) > 1000 {
		t.Errorf("%.200v", err)
	}
}
