package callout

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/labplatform/labplatform/scripts/bench/internal/testlab"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

// Ids of the seeded laboratory, outside the range of the demo's.
const (
	labID     = 901
	bigBill   = 9_100_000
	smallBill = 9_100_001
)

// laboratory holds a laboratory with a test of 20 parameters, a bill of 30 reports and a bill of one report.
type laboratory struct{ *testlab.Lab }

func newLaboratory(ctx context.Context, s *sandbox.Sandbox) (*laboratory, error) {
	lab, err := testlab.Open(s.Dir, s.Endpoints.Gateway)
	if err != nil {
		return nil, err
	}
	return &laboratory{lab}, lab.Apply(ctx, fixture())
}

type row = map[string]any

// fixture returns the laboratory with its tests and bills.
func fixture() row {
	tests, formats, ranges := menu()
	rows, values := results()
	sessions := []row{user("bench-callout", 1)}
	for i := range openBoards {
		sessions = append(sessions, user(boardOf(i), 2+i))
	}
	return row{
		"mysql": row{
			"labs":        []row{{"id": labID, "labName": "Bench"}},
			"department":  []row{{"id": 910, "labId_id": labID, "departmentName": "All"}},
			"userDetails": []row{{"id": labID, "labId_id": labID, "gender": "F", "dateOfBirth": "1980-01-01"}},
			"billing": []row{{"id": bigBill, "labId_id": labID, "labBillId": 1, "userDetailsId_id": labID},
				{"id": smallBill, "labId_id": labID, "labBillId": 2, "userDetailsId_id": labID}},
			"AllTests":          tests,
			"ReportFormat":      formats,
			"ReportFormatRange": ranges,
			"labReportRelation": rows,
			"reportValues":      values,
		},
		"sessions": sessions,
	}
}

// boardOf returns the session of an open board. Every board belongs to another user, because a user may have twenty
// streams.
func boardOf(i int) string { return "bench-callout-" + strconv.Itoa(i) }

func user(session string, id int) row {
	u := testlab.User(session, labID)
	u["lab_user_id"], u["department_ids"] = id, []int{910}
	return u
}

// menu returns the tests, their parameters, and the parameters' ranges for women and men.
func menu() (tests, formats, ranges []row) {
	for n := range reports {
		test := 9100 + n
		name := "Test " + strconv.Itoa(n)
		tests = append(tests, row{"id": test, "labId_id": labID, "testName": name, "departmentId_id": 910})
		for i := 1; i <= parameters; i++ {
			id := 9_100_000 + n*100 + i
			formats = append(formats, row{"id": id, "testId_id": test, "index": i, "order": i,
				"parameterName": "Parameter " + strconv.Itoa(i), "unit": "mmol/L"})
			for band, gender := range []string{"M", "F"} {
				ranges = append(ranges, row{"id": 2*id + band, "reportFormatId_id": id, "gender": gender, "ageFrom": 0,
					"lowerBound": "4", "upperBound": "11", "criticalLower": "2", "criticalUpper": "30", "displayRange": "4 - 11"})
			}
		}
	}
	return tests, formats, ranges
}

// results returns the reports of both bills, the small one's last, and their values, of which the first ones are
// critical.
func results() (rows, values []row) {
	for n := range reports + 1 {
		bill, id := bigBill, 9_100_000+n
		if n == reports {
			bill = smallBill
		}
		rows = append(rows, row{"id": id, "labId_id": labID, "billId_id": bill, "billingInfoId_id": id,
			"userDetailsId_id": labID, "reportID_id": 9100 + n%reports, "sampleCollected": 1,
			"sampleCollectionTime": "2026-11-19T04:07:30Z", "criticalValues": 1})
		for i := 1; i <= parameters; i++ {
			value := "7." + strconv.Itoa(i)
			if i <= critical {
				value = "40"
			}
			values = append(values, row{"labReportId_id": id, "index": i, "order": i,
				"parameter_name": "Parameter " + strconv.Itoa(i), "value": value})
		}
	}
	return rows, values
}

// list requests a bill's records and checks that every report is listed with its critical values.
func (l *laboratory) list(ctx context.Context, bill, want int) error {
	path := fmt.Sprintf("/report/%d/critical/records", bill)
	text, err := l.Call(ctx, testlab.Request{Session: "bench-callout", Path: path})
	if err != nil {
		return err
	}
	var answer struct {
		Reports []struct {
			Parameters []struct{} `json:"critical_parameters"`
		} `json:"reports"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Reports) != want {
		return fmt.Errorf("bill %d: %.200s", bill, text)
	}
	for _, r := range answer.Reports {
		if len(r.Parameters) != critical {
			return fmt.Errorf("bill %d: %d critical values", bill, len(r.Parameters))
		}
	}
	return nil
}
