package rerun_test

import (
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// liver is a profile without own parameters. Tests 61 and 62 have index 1; only 62 has index 2.
var liver = rerun.Tests{Own: 60, Parameters: []rerun.Parameter{
	{TestID: 61, Index: 1, Order: 1, Name: "Total Bilirubin", TestName: "Bilirubin"},
	{TestID: 62, Index: 1, Order: 2, Name: "SGPT", TestName: "Transaminases"},
	{TestID: 62, Index: 2, Order: 3, Name: "SGOT", TestName: "Transaminases"},
}}

// mixed is a profile whose own test also has index 1.
var mixed = rerun.Tests{Own: 60, Parameters: append([]rerun.Parameter{
	{TestID: 60, Index: 1, Order: 1, Name: "Albumin", TestName: "Liver"}}, liver.Parameters...)}

func TestTheTestOfAValueIsTheOneThatSomethingDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tests  rerun.Tests
		testID int64
		index  int
		name   string
		want   string // test of a row in a request
		result string // test of a row of the report
	}{
		{liver, 0, 1, "", "none", "none"},
		{liver, 0, 1, "Total Bilirubin", "61", "61"},
		{liver, 0, 1, " sgpt ", "62", "62"},
		{liver, 0, 1, "Other", "none", "none"},
		{liver, 61, 1, "", "61", "61"},
		{liver, 60, 1, "", "none", "0"}, // the profile itself does not have the index
		{liver, 60, 1, "SGPT", "62", "0"},
		{liver, 0, 2, "", "62", "62"},
		{liver, 0, 2, "Other", "62", "62"},
		{liver, 0, 9, "", "0", "0"},
		{mixed, 0, 1, "", "none", "0"},
		{mixed, 0, 1, "Albumin", "0", "0"},
		{mixed, 60, 1, "", "0", "0"},
		{mixed, 62, 1, "Albumin", "62", "62"},
		{liver.With(61, 1, 1, "T. Bil"), 0, 1, "t. bil", "61", "61"},
		{liver.With(62, 1, 1, "Total Bilirubin"), 0, 1, "Total Bilirubin", "none", "none"},
	} {
		got := said(c.tests.Of(c.testID, c.index, c.name))
		result := said(c.tests.OfResult(rerun.Result{ProfileTestID: c.testID, Index: c.index, ParameterName: c.name}))
		if got != c.want || result != c.result {
			t.Errorf("test %d, index %d, %q: test %s, as a row of the report %s; want %s and %s",
				c.testID, c.index, c.name, got, result, c.want, c.result)
		}
	}
}

func said(id int64, ok bool) string {
	if !ok {
		return "none"
	}
	return fmt.Sprint(id)
}

func TestTheNamingIDDecides(t *testing.T) {
	t.Parallel()
	for _, tests := range []rerun.Tests{liver, mixed} {
		for _, p := range tests.Parameters {
			id, _ := tests.Of(p.TestID, p.Index, "")
			if got, ok := tests.Of(tests.Naming(id, p.Index), p.Index, ""); !ok || got != id {
				t.Errorf("test %d is named %d, which is test %d, %v; want the same test", id, tests.Naming(id, p.Index), got, ok)
			}
			if name := tests.Name(id); name != p.TestName {
				t.Errorf("test %d has the name %q, want %q", id, name, p.TestName)
			}
		}
	}
}
