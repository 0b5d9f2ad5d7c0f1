package search_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

func lab(t *testing.T, id int64) authn.LabScope {
	t.Helper()
	scope, err := authn.Principal{Kind: authn.Session, LabID: id}.Scope(0)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

func TestALoginSeesItsOwn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		principal authn.Principal
		named     int64
		want      search.Scope
		refused   apperr.Kind
	}{
		"a lab user":                         {authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12}, 0, search.Scope{Lab: lab(t, 12)}, 0},
		"a lab user of a branch":             {authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12, BranchID: 3}, 12, search.Scope{Lab: lab(t, 12), BranchID: 3}, 0},
		"an organization":                    {authn.Principal{Kind: authn.Bearer, SessionType: authn.Organization, LabID: 12, OrgID: 45}, 0, search.Scope{Lab: lab(t, 12), OrgID: 45}, 0},
		"a collection centre":                {authn.Principal{Kind: authn.Session, SessionType: authn.CollectionCenter, LabID: 12, CCID: 9}, 0, search.Scope{Lab: lab(t, 12), CCID: 9}, 0},
		"an organization without its id":     {authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12}, 0, search.Scope{}, apperr.Forbidden},
		"a collection centre without its id": {authn.Principal{Kind: authn.Session, SessionType: authn.CollectionCenter, LabID: 12, BranchID: 3}, 0, search.Scope{}, apperr.Forbidden},
		"another laboratory":                 {authn.Principal{Kind: authn.Session, LabID: 12}, 13, search.Scope{}, apperr.Invalid},
		"a session without laboratory":       {authn.Principal{Kind: authn.Session}, 12, search.Scope{}, apperr.Invalid},
		"a service":                          {authn.Principal{Kind: authn.Service, Caller: "rerun"}, 12, search.Scope{Lab: lab(t, 12)}, 0},
		"a service that names none":          {authn.Principal{Kind: authn.Service, Caller: "rerun"}, 0, search.Scope{}, apperr.Invalid},
		"no one":                             {authn.Principal{}, 0, search.Scope{}, apperr.Invalid},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := search.ScopeOf(c.principal, c.named)
			if (c.refused != 0) != (err != nil) || (err != nil && apperr.KindOf(err) != c.refused) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(authn.LabScope{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPatientIsAdmittedByEveryLimitOfTheScope(t *testing.T) {
	t.Parallel()
	patient := search.Places{BranchIDs: []int64{3, 4}, OrgIDs: []int64{45}}
	cases := []struct {
		scope search.Scope
		want  bool
	}{
		{search.Scope{}, true},
		{search.Scope{BranchID: 4}, true},
		{search.Scope{BranchID: 3, OrgID: 45}, true},
		{search.Scope{BranchID: 5}, false},
		{search.Scope{BranchID: 3, OrgID: 46}, false},
		{search.Scope{CCID: 1}, false},
	}
	for _, c := range cases {
		if got := c.scope.Admits(patient); got != c.want {
			t.Errorf("%+v: %v", c.scope, got)
		}
	}
}
