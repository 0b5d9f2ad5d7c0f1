package task

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// FuzzArgumentsReachTheQuery checks that the arguments of a webhook are added to the query of its URL and change
// nothing else in it.
func FuzzArgumentsReachTheQuery(f *testing.F) {
	f.Add("https://a.example/x?y=1#z", []byte(`{"n":1,"y":null,"list":[1, 2]}`))
	f.Add("https://a.example/x?%zz", []byte(`{"a&b=c":"#?&"}`))
	f.Add("https://a.example/?z=1&a=2&sig=a%2Fb%20c;d", []byte(`{"d":4,"a":3}`))
	f.Add("https://a.example", []byte(`{"":"\ud800"}`))
	f.Fuzz(func(t *testing.T, raw string, args []byte) {
		before, err := url.Parse(raw)
		if err != nil {
			return
		}
		var members map[string]json.RawMessage
		u, err := WithArgs(before, args)
		if err != nil || json.Unmarshal(args, &members) != nil {
			return
		}
		query := u.Query()
		for name, value := range members {
			if got := query[name]; len(got) == 0 || got[len(got)-1] != queryText(value) {
				t.Errorf("%q of %s arrives as %q in %v", name, args, got, u)
			}
		}
		if !strings.HasPrefix(u.RawQuery, strings.TrimSuffix(before.RawQuery, "&")) {
			t.Errorf("the query of %q with %s became %q", raw, args, u.RawQuery)
		}
		if before.RawQuery = u.RawQuery; *before != *u {
			t.Errorf("%q with %s goes to %v", raw, args, u)
		}
	})
}
