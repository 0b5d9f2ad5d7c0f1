package search_test

import (
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

func TestACursorLeadsBehindItsHitInItsOwnSearchAlone(t *testing.T) {
	t.Parallel()
	ask := func(r search.Request) (search.Query, error) { return search.NewQuery(r, 10) }
	q, err := ask(search.Request{Query: "rahul"})
	if err != nil {
		t.Fatal(err)
	}
	want := search.Cursor{Score: 1.5e8, UserID: 501, Origin: time.Unix(1_790_000_400, 0)}
	cursor := want.Encode(q)
	if got, err := ask(search.Request{Query: " rahul ", Key: "all", Cursor: cursor}); err != nil || got.After == nil || *got.After != want || got.From != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	zero := 0
	for name, c := range map[string]struct {
		request search.Request
		words   string
	}{
		"another text":   {search.Request{Query: "rahul s", Cursor: cursor}, "another search"},
		"another key":    {search.Request{Query: "rahul", Key: "name", Cursor: cursor}, "another search"},
		"other fields":   {search.Request{Query: "rahul", Fields: []string{"email"}, Cursor: cursor}, "another search"},
		"cut":            {search.Request{Query: "rahul", Cursor: cursor[:20]}, "no cursor"},
		"something else": {search.Request{Query: "rahul", Cursor: "%%%"}, "no cursor"},
		"not a number":   {search.Request{Query: "rahul", Cursor: "AX_4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}, "no cursor"},
		"and from":       {search.Request{Query: "rahul", Cursor: cursor, From: &zero}, "one of them"},
	} {
		if _, err := ask(c.request); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
