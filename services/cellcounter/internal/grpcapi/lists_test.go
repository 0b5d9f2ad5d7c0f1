package grpcapi_test

import (
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

// TestKeysAreMappedByNames checks that a test is found by a part of its name, and that the parameters to which its keys
// can be mapped are listed.
func TestKeysAreMappedByNames(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	storetest.Exec(t, db, "INSERT INTO AllTests (id, labId_id, testName) VALUES (57, 12, 'Coagulation'), (58, 13, 'Blood film of another')")
	storetest.Exec(t, db, "INSERT INTO ReportFormat (id, testId_id, `index`, `order`, parameterName, unit) VALUES (5701,57,2,1,'INR',''), (5702,57,1,2,'aPTT','s'), (5801,58,1,1,'A','')")
	s := over(db, "global")
	list := func(p authn.Principal, name string) string {
		out, err := s.ListTests(as(t, p), &cellcounterv1.ListTestsRequest{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, test := range out.GetTests() {
			text += fmt.Sprintf("%d %s %s, ", test.GetTestId(), test.GetName(), test.GetMappings())
		}
		return text
	}
	expect := func(what, got, want string) {
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	expect("all tests", list(user, ""), "55 Blood count none, 57 Coagulation none, 56 Differential none, ")
	save := func(who authn.Principal, lab *int64, test int64, place int32) {
		if _, err := s.SaveMappings(as(t, who), &cellcounterv1.SaveMappingsRequest{TestId: test, Body: &cellcounterv1.MappingsBody{
			LabId: lab, Mappings: []*cellcounterv1.MappingInput{whole("a", place, 1)}}}); err != nil {
			t.Fatal(err)
		}
	}
	save(user, ptr(int64(12)), 55, 1)
	save(admin, nil, 56, 1)
	expect("a part of the name", list(user, "COAG"), "57 Coagulation none, ")
	expect("those with keys are first", list(user, ""), "55 Blood count own, 56 Differential default, 57 Coagulation none, ")
	expect("a sign of patterns", list(user, "%"), "")
	expect("another laboratory", list(other, ""), "56 Differential default, 58 Blood film of another none, ")
	out, err := s.ListParameters(as(t, reader), &cellcounterv1.ListParametersRequest{TestId: 57})
	if err != nil {
		t.Fatal(err)
	}
	expect("the parameters, in the order of the report", fmt.Sprint(out.GetTestName(), out.GetParameters()[0].GetName(), out.GetParameters()[1].GetReportFormatIndex(), out.GetParameters()[1].GetUnit()), "CoagulationINR1s")
	if _, err := s.ListParameters(as(t, other), &cellcounterv1.ListParametersRequest{TestId: 57}); !apperr.Is(err, apperr.NotFound) {
		t.Errorf("another laboratory's test: %v, want NotFound", err)
	}
	if out.GetMayChange() || out.GetLabId() != 12 {
		t.Errorf("without a permission: may change %v in laboratory %d, want false in 12", out.GetMayChange(), out.GetLabId())
	}
	if allowed, err := s.ListParameters(as(t, user), &cellcounterv1.ListParametersRequest{TestId: 57}); err != nil || !allowed.GetMayChange() {
		t.Errorf("with a permission: %v, %v, want may_change", allowed, err)
	}
	five, err := s.ListParameters(as(t, reader), &cellcounterv1.ListParametersRequest{TestId: 55})
	if err != nil || len(five.GetParameters()) != 5 {
		t.Errorf("parameters: %v, %v, want the 5 that are not disabled", five, err)
	}
}

func TestWhoMayListWhatWaits(t *testing.T) {
	t.Parallel()
	s := server(t, "global")
	organization := authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 45}
	for name, c := range map[string]struct {
		who   authn.Principal
		limit int32
		want  string // reason of the error
	}{
		"a lab user":             {reader, 1, ""},
		"support":                {support, 200, ""},
		"an organization":        {organization, 1, "NOT_ALLOWED"},
		"without a laboratory":   {homeless, 1, "NO_LABORATORY"},
		"a page of none":         {reader, 0, "INVALID_ARGUMENT"},
		"a page that is too big": {reader, 201, "INVALID_ARGUMENT"},
	} {
		_, err := s.ListWaiting(as(t, c.who), &cellcounterv1.ListWaitingRequest{Limit: &c.limit})
		got := ""
		if e, ok := apperr.From(err); ok {
			got = e.Reason
		}
		if got != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
