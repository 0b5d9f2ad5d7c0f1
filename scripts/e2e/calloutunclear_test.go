package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// unclearReports returns the reports in a range of ids that the worklist has among open, and among unclear ones.
func unclearReports(t *testing.T, from, to int) (open, unclear []int) {
	t.Helper()
	type entry struct {
		Report int `json:"lab_report_id"`
	}
	var list struct{ Open, Unclear []entry }
	if err := json.Unmarshal([]byte(call(t, "demo-admin", "GET", "/operation/critical-callout/open", "").body), &list); err != nil {
		t.Fatal(err)
	}
	ids := func(entries []entry) (found []int) {
		for _, e := range entries {
			if e.Report >= from && e.Report <= to {
				found = append(found, e.Report)
			}
		}
		slices.Sort(found)
		return found
	}
	return ids(list.Open), ids(list.Unclear)
}

// TestCalloutIsNotSilentAboutWhatItCannotEvaluate saves unlisted texts, and results of a newborn whose age is unknown
// because the birth date is after the collection, is missing, or the laboratory's time zone is unknown. They must be
// unclear; earlier they counted as normal.
func TestCalloutIsNotSilentAboutWhatItCannotEvaluate(t *testing.T) {
	const bill, culture, bilirubin, baby = 976800, 69801, 69802, 976800
	applyFixture(t, fmt.Sprintf(`{"mysql":{
		"AllTests":[{"id":%[1]d,"labId_id":12,"testName":"Blood culture","departmentId_id":7},{"id":%[2]d,"labId_id":12,"testName":"Bilirubin","departmentId_id":7}],
		"ReportFormat":[{"id":%[1]d,"testId_id":%[1]d,"index":1,"order":1,"parameterName":"Culture","valueType":"text"},
			{"id":%[2]d,"testId_id":%[2]d,"index":1,"order":1,"parameterName":"Total bilirubin","unit":"mg/dL"}],
		"ReportFormatRange":[
			{"id":698011,"reportFormatId_id":%[1]d,"normalTexts":["No growth"],"criticalTexts":["Positive"]},
			{"id":698021,"reportFormatId_id":%[2]d,"ageFromUnit":"D","ageTo":28,"ageToUnit":"D","lowerBound":0,"upperBound":12,"criticalUpper":15},
			{"id":698022,"reportFormatId_id":%[2]d,"lowerBound":0,"upperBound":25}],
		"userDetails":[{"id":%[3]d,"labId_id":12,"orgId_id":45,"fullName":"Baby Joshi","gender":"Female","dateOfBirth":"2026-11-18"}],
		"billing":[{"id":%[4]d,"labId_id":12,"labBillId":%[4]d,"orderNumber":"E2E","userDetailsId_id":%[3]d,"orgId_id":45}]}}`,
		culture, bilirubin, baby, bill))
	save := func(report, test int, value string) {
		applyFixture(t, fmt.Sprintf(`{"mysql":{
			"labReportRelation":[{"id":%[1]d,"labId_id":12,"billId_id":%[2]d,"userDetailsId_id":%[3]d,"reportID_id":%[4]d,"orgId_id":45,"sampleCollected":1,"sampleCollectionTime":"2026-11-19T04:07:30Z"}],
			"reportValues":[{"id":%[1]d,"labReportId_id":%[1]d,"index":1,"order":1,"value":%[5]q}]}}`, report, bill, baby, test, value))
	}
	evaluate := func() {
		t.Helper()
		if got := evaluateBill(t, bill); got.status != 200 {
			t.Fatalf("got %d %s, want status 200", got.status, got.body)
		}
	}
	want := func(what string, from, to int, wantOpen, wantUnclear []int) {
		t.Helper()
		evaluate()
		if open, unclear := unclearReports(t, from, to); !slices.Equal(open, wantOpen) || !slices.Equal(unclear, wantUnclear) {
			t.Errorf("%s: open = %v, unclear = %v, want %v and %v", what, open, unclear, wantOpen, wantUnclear)
		}
	}

	texts := []string{"Positive for Gram-negative bacilli", "Gram-negative rods seen", "Growth of E. coli", "Pos" + "tive", "+ve", "Haemolysed", "Negative"}
	var unlisted []int
	for i, text := range texts {
		unlisted = append(unlisted, bill+10+i)
		save(bill+10+i, culture, text)
	}
	save(bill+30, culture, "POSITIVE.")
	save(bill+31, culture, "No growth")
	save(bill+32, culture, "Pending")
	want("texts", bill+10, bill+32, []int{bill + 30}, unlisted)
	for _, report := range append(unlisted, bill+30) { // removes the results from the board
		save(report, culture, "No growth")
	}
	want("listed normal texts", bill+10, bill+32, nil, nil)

	const report = bill + 50
	birth := func(date any) {
		execSQL(t, "UPDATE userDetails SET dateOfBirth = ? WHERE id = ?", date, baby)
	}
	save(report, bilirubin, "19")
	birth("2026-11-20")
	want("birth after the collection", report, report, nil, []int{report})
	birth(nil)
	want("no birth date", report, report, nil, []int{report})
	birth("2026-11-19")
	zone := queryTexts(t, "SELECT timezone FROM labs WHERE id = 12")[0]
	defer execSQL(t, "UPDATE labs SET timezone = ? WHERE id = 12", zone)
	for _, unknown := range []string{"IST", "India Standard Time", ""} {
		execSQL(t, "UPDATE labs SET timezone = ? WHERE id = 12", unknown)
		want("zone "+unknown, report, report, nil, []int{report})
		if got := call(t, labSession, "GET", "/operation/critical-callout/summary", ""); got.status != 200 {
			t.Errorf("summary with the zone %q: %d %s", unknown, got.status, got.body)
		}
	}
	execSQL(t, "UPDATE labs SET timezone = ? WHERE id = 12", strings.ToLower(zone))
	want("the zone in lower case", report, report, []int{report}, nil)
	save(report, bilirubin, "9")
	want("a normal value", report, report, nil, nil)
}
