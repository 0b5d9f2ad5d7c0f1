package search_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

func TestATextOfDuplicatesTellsAPerson(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]search.Identity{
		"Rahul Sharma 1990-02-11":             {Name: "Rahul Sharma", Birth: "1990-02-11"},
		"11/2/1990 Rahul Sharma":              {Name: "Rahul Sharma", Birth: "1990-02-11"},
		"Rahul 11.02.1990 Sharma 98765-43210": {Name: "Rahul Sharma", Birth: "1990-02-11", Phone: "9876543210"},
		"Rahul +91 98765 43210":               {Name: "Rahul", Phone: "919876543210"},
		"Md. Yusuf (022) 234 5678":            {Name: "Md. Yusuf", Phone: "0222345678"},
	} {
		q, err := search.NewQuery(search.Request{Query: text, Key: "duplicate"}, 10)
		if diff := cmp.Diff(want, q.Identity); err != nil || diff != "" {
			t.Errorf("%q: error %v: %s", text, err, diff)
		}
	}
	for _, text := range []string{"Rahul Sharma", "1990-02-11", "98765 43210 1990-02-11", "Rahul 45", "Rahul 31/02/1990"} {
		_, err := search.NewQuery(search.Request{Query: text, Key: "duplicate"}, 10)
		if e, ok := apperr.From(err); !ok || e.Kind != apperr.Invalid || e.Fields[0].Name != "query" || !strings.Contains(e.Fields[0].Message, "birth date") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
