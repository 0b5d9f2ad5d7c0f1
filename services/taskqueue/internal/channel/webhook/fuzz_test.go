package webhook

import (
	"encoding/json"
	"testing"
)

// The arguments of a webhook reach its query, and change nothing else of where it goes.
func FuzzArgumentsReachTheQuery(f *testing.F) {
	f.Add("https://a.example/x?y=1#z", []byte(`{"n":1,"y":null,"list":[1, 2]}`))
	f.Add("https://a.example/x?%zz", []byte(`{"a&b=c":"#?&"}`))
	f.Add("https://a.example", []byte(`{"":"\ud800"}`))
	f.Fuzz(func(t *testing.T, raw string, args []byte) {
		u, err := parseURL(raw)
		if err != nil {
			return
		}
		before := *u
		var members map[string]json.RawMessage
		if addQuery(u, args) != nil || json.Unmarshal(args, &members) != nil {
			return
		}
		query := u.Query()
		for name, value := range members {
			if got := query.Get(name); got != queryText(value) {
				t.Errorf("%q of %s arrives as %q in %v", name, args, got, u)
			}
		}
		if before.RawQuery = u.RawQuery; before != *u {
			t.Errorf("%q with %s goes to %v", raw, args, u)
		}
	})
}
