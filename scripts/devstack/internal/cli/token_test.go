package cli

import (
	"strings"
	"testing"
)

func TestTheCalleeOfATokenIsAServiceOfThePlatform(t *testing.T) {
	t.Parallel()
	cases := []struct {
		args         []string
		want, refuse string
	}{
		{nil, "gateway", ""},
		{[]string{"--for", "taskqueue"}, "taskqueue", ""},
		{[]string{"--for=rerun"}, "rerun", ""},
		{[]string{"--for", "billing"}, "", "there is no service billing; services are gateway, "},
		{[]string{"taskqueue"}, "", `"taskqueue" is not understood; use devstack print-internal-token --for SERVICE`},
		{[]string{"--to", "taskqueue"}, "", "-to"},
		{[]string{"--for"}, "", "needs an argument"},
	}
	for _, c := range cases {
		got, err := calleeOf(c.args)
		if got != c.want || (err == nil) != (c.refuse == "") || (err != nil && !strings.Contains(err.Error(), c.refuse)) {
			t.Errorf("%v: %q, %v", c.args, got, err)
		}
	}
}
