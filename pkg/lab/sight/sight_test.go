package sight_test

import (
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
)

func TestEveryLimitOfALoginIsACondition(t *testing.T) {
	t.Parallel()
	department := 0
	for name, c := range map[string]struct {
		login authn.Principal
		want  string
	}{
		"a lab user":            {authn.Principal{SessionType: authn.LabUser}, " []"},
		"of a branch":           {authn.Principal{SessionType: authn.LabUser, BranchID: 3}, " AND b.branchId = ? [3]"},
		"of an organization":    {authn.Principal{SessionType: authn.LabUser, OrgID: 45}, " AND b.orgId_id = ? [45]"},
		"of a centre":           {authn.Principal{SessionType: authn.Doctor, DocType: &department, CCID: 9}, " AND b.ccId_id = ? [9]"},
		"a department's doctor": {authn.Principal{SessionType: authn.Doctor, DocType: &department, DoctorID: 301}, " []"},
		"a referring doctor":    {authn.Principal{SessionType: authn.Doctor, DoctorID: 301}, " AND b.docId_id = ? [301]"},
		"a doctor without id":   {authn.Principal{SessionType: authn.Doctor}, " AND b.docId_id = ? [0]"},
		"all of them": {authn.Principal{SessionType: authn.Doctor, BranchID: 3, OrgID: 45, CCID: 9, DoctorID: 301},
			" AND b.branchId = ? AND b.orgId_id = ? AND b.ccId_id = ? AND b.docId_id = ? [3 45 9 301]"},
		"an organization without its id": {authn.Principal{SessionType: authn.Organization, CCID: 9}, "SCOPE_MISSING"},
		"a centre without its id":        {authn.Principal{SessionType: authn.CollectionCenter, OrgID: 45}, "SCOPE_MISSING"},
	} {
		c.login.Kind, c.login.LabID = authn.Session, 12
		if got := conditions(t, c.login); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func conditions(t *testing.T, login authn.Principal) string {
	t.Helper()
	lab, err := login.Scope(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sight.Of(login, lab)
	if err != nil {
		e, _ := apperr.From(err)
		return e.Reason
	}
	where, args := s.Conditions(sight.OfBill)
	return fmt.Sprint(where, " ", args)
}

func TestAConditionWithTwoPlacesHasTheIDTwice(t *testing.T) {
	t.Parallel()
	where, args := sight.Sight{OrgID: 45}.Conditions(func(column string) string { return "(b." + column + " = ? OR r." + column + " = ?)" })
	if got := fmt.Sprint(where, args); got != " AND (b.orgId_id = ? OR r.orgId_id = ?)[45 45]" {
		t.Error(got)
	}
}
