package e2e

import "testing"

// The tests cover every documented status of the worklists.

func TestBillSplitListsBillsOfToday(t *testing.T) {
	t.Parallel()
	path, organization := splitPath+"today", organizationLogin(t, "e2e-today-org", "12", "4831")
	answersAre(t, []step{
		{"no session", "", "GET", path, "", 401, `"status":"failed"`},
		{"an organization", organization, "GET", path, "", 403, "Bills are split and merged by lab users"},
		{"a page of none", labSession, "GET", path + "?limit=0", "", 400, `"message":"limit must be from 1 to 200"`},
		{"before no bill", labSession, "GET", path + "?before=0", "", 400, `"message":"before must be a positive integer"`},
		{"a page that is no number", labSession, "GET", path + "?limit=many", "", 400, `"failed_validation":[]`},
		{"a page", labSession, "GET", path + "?limit=1", "", 200, `"limit_reached":false,"day":"20`},
		{"below every bill", labSession, "GET", path + "?before=1", "", 200, `{"bills":[],"total":`},
	})
}

func TestCellCounterListsWhatItCounts(t *testing.T) {
	t.Parallel()
	seedTest(t, 77041)
	organization := organizationLogin(t, "e2e-waiting-org", "12", "4832")
	answersAre(t, []step{
		{"waiting without a session", "", "GET", mappingsPath + "waiting", "", 401, `"message"`},
		{"waiting, as an organization", organization, "GET", mappingsPath + "waiting", "", 403, "Counts are kept and read by lab users"},
		{"a page of none", labSession, "GET", mappingsPath + "waiting?limit=0", "", 400, `"field":"limit"`},
		{"below every report", labSession, "GET", mappingsPath + "waiting/?limit=200&before=1", "", 200, `{"reports":[],"total":`},
		{"tests without a session", "", "GET", mappingsPath + "tests", "", 401, `"message"`},
		{"a name that is too long", labSession, "GET", mappingsPath + "tests?name=" + numbers(30), "", 400, `"field":"name"`},
		{"tests by a part of the name", labSession, "GET", mappingsPath + "tests?name=no+test+has+this+name", "", 200, `{"tests":[],"limit_reached":false}`},
		{"parameters", labSession, "GET", mappingsPath + "77041/parameters", "", 200, `{"test_name":"Differential","parameters":[{"report_format_id":770411,"report_format_index":1,"report_format_order":1,"name":"P1","unit":""}`},
		{"parameters of another laboratory's", otherSession, "GET", mappingsPath + "77041/parameters", "", 404, "There is no such test"},
		{"parameters of test 0", labSession, "GET", mappingsPath + "0/parameters", "", 400, `"field":"test_id"`},
		{"parameters without a session", "", "GET", mappingsPath + "77041/parameters", "", 401, `"message"`},
	})
}

func TestExternalEditListsHeldReports(t *testing.T) {
	t.Parallel()
	const path = "/api-v3/report/external-edit/held"
	organization := organizationLogin(t, "e2e-held-org", "12", "4833")
	answersAre(t, []step{
		{"no session", "", "GET", path, "", 401, `"code":401`},
		{"an organization", organization, "GET", path, "", 403, "Only the staff of the laboratory sees editing sessions"},
		{"a page that is too long", editor(t, 12), "GET", path + "?limit=201", "", 400, "limit must be from 1 to 200"},
		{"below every session", editor(t, 12), "GET", path + "?before=1", "", 200, `{"reports":[],"total":`},
	})
}
