package elastic_test

import (
	"encoding/json"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// FuzzAnyTextBecomesARequest checks that any text is either rejected or converted to a request that the engine can
// parse.
func FuzzAnyTextBecomesARequest(f *testing.F) {
	for _, text := range []string{
		"rahul sharma", "98765 43210", "s/o anil, 11/02/1990", "P-000501", "राहुल", "o'brien-smith", "\"}],\"query", "\u0000", "# bill no 12/3~4", "a", "\xff\xfe",
		"mob: +91-98765-43210 rahul", "١٢٣٤٥", "ﬁ ligature", "A\u0301", "\u202Egnirts",
	} {
		f.Add(text)
	}
	store := elastic.New(nil, elastic.Config{PhoneCountryCodes: []string{"91"}}, clock.System{})
	f.Fuzz(func(t *testing.T, text string) {
		q, err := search.NewQuery(search.Request{Query: text}, 10)
		if err != nil {
			return
		}
		if request := store.Request(q.Text); !json.Valid(request) {
			t.Errorf("%q became %s", text, request)
		}
	})
}
