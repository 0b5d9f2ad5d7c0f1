package grpcapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

func TestPayloadGates(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``:                      "non-empty list",
		`null`:                  "non-empty list",
		`[]`:                    "non-empty list",
		`{}`:                    "non-empty list",
		`"5"`:                   "non-empty list",
		`[5,5]`:                 "must not repeat",
		`["a", "a"]`:            "must not repeat", // this check runs before the entries are checked
		`["5"]`:                 "entry 1 is none",
		`[1,5.0]`:               "entry 2 is none",
		`[1e3]`:                 "entry 1 is none",
		`[true]`:                "entry 1 is none",
		`[null]`:                "entry 1 is none",
		`[[1]]`:                 "entry 1 is none",
		`[9223372036854775808]`: "entry 1 is none",
	} {
		if tests, err := testsOf([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v, want %q", raw, tests, err, want)
		}
	}
	tests, err := testsOf([]byte(` [ 5 , -7,9007199254740993 ] `))
	if err != nil || !slices.Equal(tests, []int64{5, -7, 9007199254740993}) {
		t.Errorf("%v %v", tests, err)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	org, self, other := "Org Pay", "Self Pay", "org pay"
	for _, c := range []struct {
		text *string
		want bill.Destination
	}{{nil, bill.OrgPay}, {&org, bill.OrgPay}, {&self, bill.SelfPay}} {
		if got, err := sourceOf(c.text); err != nil || got != c.want {
			t.Errorf("%q %v, want %q", got, err, c.want)
		}
	}
	if got, err := sourceOf(&other); err == nil {
		t.Errorf("%q is %q", other, got)
	}
}
