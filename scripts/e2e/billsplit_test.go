package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/e2e/conformance"
)

const splitPath = "/api-v3/finance/bill/split/"

// seedBill creates a bill of laboratory 12, that of the documented example: tests id*10+1 to 3 of 400, 350 less 50, and
// 333.33, and a child of the third. Each has a report.
func seedBill(t *testing.T, id int, more ...string) {
	t.Helper()
	tests, reports := "", ""
	for n, money := range []string{`"testAmount":"400.00","co_pay_amount":"40.00"`, `"testAmount":"350.00","testConsc":"50.00","co_pay_amount":"30.00"`,
		`"isProfile":1,"testAmount":"333.33","co_pay_amount":"33.33"`, fmt.Sprintf(`"profileParentId":%d`, id*10+3)} {
		row := id*10 + n + 1
		tests += fmt.Sprintf(`,{"id":%d,"billId_id":%d,"labId_id":12,"testId_id":55,%s}`, row, id, money)
		reports += fmt.Sprintf(`,{"id":%d,"labId_id":12,"billId_id":%d,"billingInfoId_id":%d,"userDetailsId_id":501,"reportID_id":55}`, row, id, row)
	}
	// The first row has the highest id and bill number of the laboratory, so that new bills get values that no fixture of
	// a test has.
	applyFixture(t, fmt.Sprintf(`{"mysql":{"billing":[{"id":40000000,"labId_id":12,"labBillId":50000000,"userDetailsId_id":501},{"id":%d,"labId_id":12,"labBillId":%d,"orderNumber":"E2E-%d","userDetailsId_id":501,
		"source":"Insurance","vat":"51.67","vat_percent":"5","TDSAmount":"10.00","co_pay_amount":"103.33","billConcession":"50.00",
		"billTotalAmount":"1125.00","billAdditionalAmount":"50.00","patientPayableAmount":"103.33"}],"billingInfo":[%s],"labReportRelation":[%s]%s}}`,
		id, id, id, tests[1:], reports[1:], strings.Join(more, "")))
}

// bills returns everything that a split changes in the given bills, as text: amounts, and the bills of their tests and
// reports.
func bills(t *testing.T, ids ...int) string {
	t.Helper()
	db := openMySQL(t)
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprint(id))
	}
	in := strings.Join(list, ",")
	var text sql.NullString
	err := db.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(line ORDER BY line SEPARATOR '\n') FROM (SELECT CONCAT_WS(' ', 'bill', id, source, billTotalAmount, vat,"+
		" vat_percent, TDSAmount, billAdditionalAmount, billConcession, co_pay_amount, deductible_amount, patientPayableAmount, billAdvance, billCancelled) line FROM billing WHERE id IN ("+in+")"+
		" UNION ALL SELECT CONCAT_WS(' ', 'test', id, billId_id) FROM billingInfo WHERE billId_id IN ("+in+")"+
		" UNION ALL SELECT CONCAT_WS(' ', 'report', id, billId_id) FROM labReportRelation WHERE billId_id IN ("+in+")"+
		" UNION ALL SELECT CONCAT_WS(' ', 'split', new_bill_id) FROM bill_split_audit WHERE parent_bill_id IN ("+in+")"+
		" UNION ALL SELECT CONCAT_WS(' ', 'log', category, billId) FROM ActivityLog WHERE billId IN ("+in+")) lines_of_bills").Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text.String
}

func TestBillSplitDocumentedAnswers(t *testing.T) {
	t.Parallel()
	seedBill(t, 91001)
	applyFixture(t, `{"sessions":[{"id":"e2e-no-lab","session_type":"lab_user","lab_user_id":77,"username":"stranger"}],
		"mysql":{"billing":[{"id":91002,"labId_id":12,"labBillId":91002,"userDetailsId_id":501,"source":"Insurance"}]}}`)
	path, before := splitPath+"91001", bills(t, 91001, 91002)
	steps := []struct {
		name, session, path, body string
		status                    int
		want                      string
	}{
		{"no session", "", path, `{"test_ids":[910013]}`, 401, `{"status":"failed","failed_validation":[],"message":`},
		{"a session without a laboratory", "e2e-no-lab", path, `{"test_ids":[910013]}`, 400, `"message":"lab_id is missing`},
		{"a bill that is no number", labSession, splitPath + "abc", `{"test_ids":[1]}`, 400, `{"status":"failed","failed_validation":[],"message":`},
		{"a bill with a point", labSession, splitPath + "1.5", `{"test_ids":[1]}`, 400, `"failed_validation":[]`},
		{"bill 0", labSession, splitPath + "0", `{"test_ids":[1]}`, 400, `"message":"bill_id must be a positive integer"`},
		{"bill -1", labSession, splitPath + "-1", `{"test_ids":[1]}`, 400, `"message":"bill_id must be a positive integer"`},
		{"bill 2^63", labSession, splitPath + "9223372036854775808", `{"test_ids":[1]}`, 400, `"failed_validation":[]`},
		{"no tests", labSession, path, `{}`, 400, `{"status":"failed","failed_validation":[],"message":"test_ids must be a non-empty list","errors":[{"field":"test_ids","message":"test_ids must be a non-empty list"}]}`},
		{"null", labSession, path, `{"test_ids":null}`, 400, "test_ids must be a non-empty list"},
		{"an empty list", labSession, path, `{"test_ids":[],"is_validate":true}`, 400, "test_ids must be a non-empty list"},
		{"no list", labSession, path, `{"test_ids":"910013"}`, 400, "test_ids must be a non-empty list"},
		{"an entry twice", labSession, path, `{"test_ids":[910013, 910013]}`, 400, "test_ids must not repeat an entry"},
		{"text", labSession, path, `{"test_ids":["910013"]}`, 400, "test_ids must hold integers only; entry 1 is none"},
		{"a float", labSession, path, `{"test_ids":[910012,910013.0]}`, 400, "entry 2 is none"},
		{"true", labSession, path, `{"test_ids":[true]}`, 400, "test_ids must hold integers only"},
		{"2^63", labSession, path, `{"test_ids":[9223372036854775808]}`, 400, "test_ids must hold integers only"},
		{"another source", labSession, path, `{"test_ids":[910013],"new_source":"Insurance"}`, 400, "new_source must be Org Pay or Self Pay"},
		{"a source that is no text", labSession, path, `{"test_ids":[910013],"new_source":5}`, 400, `"failed_validation":[]`},
		{"a name twice", labSession, path, `{"test_ids":[910013],"test_ids":[910012]}`, 400, `"failed_validation":[]`},
		{"no JSON", labSession, path, `{`, 400, `"failed_validation":[]`},
		{"valid", labSession, path, `{"test_ids":[910013],"is_validate":true}`, 200, `{"status":"success","failed_validation":[],"message":"Validation results only","warnings":[{"type":"PATIENT_PART_MOVED","message":"The patient's part of the chosen tests becomes payable on the new bill, which no insurance pays: patientPayableAmount 33.33, co_pay_amount 33.33, deductible_amount 0.00","blocking":false}]}`},
		{"both flags", labSession, path, `{"test_ids":[910013],"is_validate":true,"is_calculate":true}`, 200, `"message":"Validation results only"`},
		{"a negative test", labSession, path, `{"test_ids":[-5],"is_validate":true}`, 200, `{"status":"failed","failed_validation":[{"type":"TO_SPLIT_TESTS_NOT_FOUND","message":"These tests are not on the bill: -5"}],"message":"Bill split validation failed"`},
		{"10,000 tests", labSession, path, `{"is_validate":true,"test_ids":[` + numbers(10_000) + `]}`, 200, `and 9980 more"}]`},
		{"validate another laboratory's", otherSession, path, `{"test_ids":[910013],"is_validate":true}`, 200, `"failed_validation":[{"type":"BILL_NOT_FOUND"`},
		{"calculate another laboratory's", otherSession, path, `{"test_ids":[910013],"is_calculate":true}`, 200, `"status":"failed","failed_validation":[{"type":"BILL_NOT_FOUND"`},
		{"another laboratory's", otherSession, path, `{"test_ids":[910013]}`, 400, `{"status":"failed","failed_validation":[{"type":"BILL_NOT_FOUND"`},
		{"a bill without tests", labSession, splitPath + "91002", `{"test_ids":[910013]}`, 400, `"failed_validation":[{"type":"TO_SPLIT_TESTS_NOT_FOUND"`},
		{"calculate", labSession, path + "/", `{"test_ids":[910013],"is_calculate":true}`, 200, `{"status":"success","failed_validation":[],"message":"Billing calculations","warnings":[{"type":"PATIENT_PART_MOVED","message":"The patient's part of the chosen tests becomes payable on the new bill, which no insurance pays: patientPayableAmount 33.33, co_pay_amount 33.33, deductible_amount 0.00","blocking":false}],` +
			`"bill":{"vat":35,"vat_percent":5,"TDSAmount":6.77,"billAdvance":0,"co_pay_amount":70,"billConcession":50,"billTotalAmount":762.1,"deductible_amount":0,"billAdditionalAmount":33.87,"patientPayableAmount":70},` +
			`"split_bill":{"vat":16.67,"vat_percent":5,"TDSAmount":3.23,"billAdvance":0,"co_pay_amount":33.33,"billConcession":0,"billTotalAmount":362.9,"deductible_amount":0,"billAdditionalAmount":16.13,"patientPayableAmount":33.33}}`},
		{"calculate what fails", labSession, path, `{"test_ids":[910013,7],"is_calculate":true}`, 200, `"status":"failed","failed_validation":[{"type":"TO_SPLIT_TESTS_NOT_FOUND","message":"These tests are not on the bill: 7"}],"message":"Bill split validation failed","warnings":[{"type":"PATIENT_PART_MOVED"`},
		{"a child alone", labSession, path, `{"test_ids":[910014]}`, 400, `{"type":"INVALID_TO_SPLIT_TEST"`},
		{"everything, calculated", labSession, path, `{"test_ids":[910011,910012,910013],"is_calculate":true}`, 200, `"status":"success","failed_validation":[],"message":"Billing calculations","warnings":[{"type":"ZERO_TEST_COUNT_AFTER_SPLIT","message":"At least one test must stay on the bill; choose fewer tests","blocking":true},{"type":"PATIENT_PART_MOVED"`},
		{"everything", labSession, path, `{"test_ids":[910011,910012,910013]}`, 400, `{"status":"failed","failed_validation":[{"type":"ZERO_TEST_COUNT_AFTER_SPLIT","message":"At least one test must stay on the bill; choose fewer tests"}],"message":"Bill split validation failed","warnings":[]}`},
		{"merge what no split made", labSession, path + "/merge", `{}`, 409, `"message":"This bill was not made by a split`},
		{"merge no bill", labSession, splitPath + "91999/merge", ``, 404, `{"status":"failed","failed_validation":[],"message":"There is no such bill in this laboratory"}`},
	}
	for _, s := range steps {
		got := call(t, s.session, "POST", s.path, s.body)
		if got.status != s.status || !strings.Contains(got.body, s.want) {
			t.Errorf("%s: %d %s, want %d with %s", s.name, got.status, got.body, s.status, s.want)
		}
	}
	// Flags may also be sent as 1 and as text. The API document states this in one place only.
	if got := call(t, labSession, "POST", path, `{"test_ids":[910013],"is_validate":1,"is_calculate":"True"}`, conformance.Tolerated, "flags"); !strings.Contains(got.body, `"message":"Validation results only"`) {
		t.Errorf("flags as a number and a text: %d %s", got.status, got.body)
	}
	if got := call(t, labSession, "GET", path, ""); got.status != http.StatusMethodNotAllowed || !strings.Contains(got.body, `"failed_validation":[]`) {
		t.Errorf("GET: %d %s", got.status, got.body)
	}
	if diff := cmp.Diff(before, bills(t, 91001, 91002)); diff != "" {
		t.Errorf("something was written: %s", diff)
	}
}

func numbers(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint(1_000_000_000+i))
	}
	return strings.Join(list, ",")
}

// A bill is split twice and merged twice. Afterwards it must equal the original.
func TestBillSplitAndBack(t *testing.T) {
	t.Parallel()
	seedBill(t, 91101, `,"bill_attachment":[{"id":91101,"lab_id":12,"bill_id":91101,"category":"smart_report","file_path":"x"}]`)
	path, before := splitPath+"91101", bills(t, 91101)
	first := call(t, labSession, "POST", path, `{"test_ids":[911013]}`)
	if first.status != http.StatusOK || !strings.Contains(first.body, `"message":"Bill split successfully","warnings":[{"type":"PATIENT_PART_MOVED"`) || !strings.Contains(first.body, `"data":{"original_bill":{"id":91101,"labBillId":91101,"total_amount":762.1},"new_bill":{"id":`) {
		t.Fatalf("got %d %s, want status 200", first.status, first.body)
	}
	second := call(t, labSession, "POST", path, `{"test_ids":[911012],"new_source":"Self Pay"}`)
	one, two := newBill(t, first), newBill(t, second)
	got := bills(t, 91101, one, two)
	for _, want := range []string{
		"bill 91101 Insurance 435.48 20.00 5.0000 3.87 19.35 0.00 40.00 0.00 40.00 0.00 0",
		fmt.Sprintf("bill %d Org Pay 362.90 16.67 5.0000 3.23 16.13 0.00 33.33 0.00 33.33 0.00 0", one),
		fmt.Sprintf("bill %d Self Pay 326.62 15.00 5.0000 2.90 14.52 50.00 30.00 0.00 30.00 0.00 0", two),
		fmt.Sprintf("test 911014 %d", one), fmt.Sprintf("report 911014 %d", one), fmt.Sprintf("report 911012 %d", two), "log 990 91101", fmt.Sprintf("log 990 %d", one),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	family := call(t, labSession, "GET", fmt.Sprint(splitPath, two, "/family"), "")
	for _, want := range []string{`{"root_bill_id":91101,"bills":[{"id":91101,"labBillId":91101,"orderNumber":"E2E-91101","source":"Insurance"`, `"orderNumber":"E2E-91101~1"`,
		`"orderNumber":"E2E-91101~2","source":"Self Pay"`, `"parent_bill_id":91101,"moved_test_ids":[911013,911014],"split_at":`, `"sum":{"vat":51.67,"vat_percent":5,"TDSAmount":10,`, `"billTotalAmount":1125,`} {
		if family.status != http.StatusOK || !strings.Contains(family.body, want) {
			t.Errorf("%d %s lacks %s", family.status, family.body, want)
		}
	}
	if got := call(t, otherSession, "GET", path+"/family", ""); got.status != http.StatusNotFound {
		t.Errorf("another laboratory: %d %s", got.status, got.body)
	}
	merge := func(id, status int, want string) {
		t.Helper()
		if got := call(t, labSession, "POST", fmt.Sprint(splitPath, id, "/merge"), ""); got.status != status || !strings.Contains(got.body, want) {
			t.Errorf("merge %d: %d %s, want %d with %s", id, got.status, got.body, status, want)
		}
	}
	merge(one, 409, fmt.Sprintf("Bill 91101 was split again since; merge bill %d (its id) first", two))
	merge(two, 200, `"message":"Bills merged successfully","data":{"original_bill":{"id":91101,"labBillId":91101,"total_amount":762.1}`)
	merge(two, 409, "merged back already")
	merge(one, 200, `"total_amount":1125}`)
	after := strings.ReplaceAll(bills(t, 91101), "log 990 91101\n", "")
	after = strings.ReplaceAll(after, "log 991 91101\n", "")
	for _, id := range []int{one, two} {
		after = strings.ReplaceAll(after, fmt.Sprintf("split %d\n", id), "")
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("not as it was: %s", diff)
	}
}

func newBill(t *testing.T, a answer) int {
	t.Helper()
	data, ok := a.json(t)["data"].(map[string]any)
	if a.status != http.StatusOK || !ok {
		t.Fatalf("got %d %s, want status 200", a.status, a.body)
	}
	return int(data["new_bill"].(map[string]any)["id"].(float64))
}

// The test checks that a split is refused for every guarded table and every state, and that validation returns the same
// as a warning.
func TestBillSplitRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct{ kind, fixture string }{
		{"INVALID_BILL_SOURCE", `"billing":[{"id":%d,"labId_id":12,"labBillId":%[1]d,"userDetailsId_id":501,"source":"Org Pay","billTotalAmount":"1083.33"}]`},
		{"INVALID_BILL_STATE", `"billing":[{"id":%d,"labId_id":12,"labBillId":%[1]d,"userDetailsId_id":501,"source":"Insurance","isInvoiced":1,"billTotalAmount":"1083.33"}]`},
		{"BILL_ADVANCE_NOT_ALLOWED", `"billing":[{"id":%d,"labId_id":12,"labBillId":%[1]d,"userDetailsId_id":501,"source":"insurance","billAdvance":"0.01"}]`},
		{"UNSUPPORTED_ATTACHMENTS_FOUND", `"bill_attachment":[{"id":%d,"lab_id":12,"bill_id":%[1]d,"category":"prescription","file_path":"x"}]`},
		{"BILL_IS_ABDM_LINKED", `"patient_linked_bill":[{"id":%d,"bill_id":%[1]d}]`},
		{"TO_SPLIT_TESTS_NOT_FROM_SAME_LAB", `"billingInfo":[{"id":%d1,"billId_id":%[1]d,"labId_id":13,"testId_id":55}]`},
		{"TO_SPLIT_TESTS_DISMISSED_OR_REFUNDED", `"billingInfo":[{"id":%d1,"billId_id":%[1]d,"labId_id":12,"testId_id":55,"refunded":1}]`},
		{`RELATION_BLOCKED","message":"crm_kit","label":"Sample kit`, `"crm_kit":[{"id":%d,"bill_id":%[1]d}]`},
		{`RELATION_BLOCKED","message":"finance_claim_test_relation`, `"finance_claim_test_relation":[{"id":%d,"billing_info_id":%[1]d1}]`},
	}
	for i, c := range tests {
		id := 91200 + i
		seedBill(t, id)
		applyFixture(t, `{"mysql":{`+fmt.Sprintf(c.fixture, id)+`}}`)
		before := bills(t, id)
		got := call(t, labSession, "POST", fmt.Sprint(splitPath, id), fmt.Sprintf(`{"test_ids":[%d1]}`, id))
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, `{"type":"`+c.kind) || !strings.Contains(got.body, `"message":"Bill split validation failed"`) {
			t.Errorf("%s: got %d %s, want status 400", c.kind, got.status, got.body)
		}
		if diff := cmp.Diff(before, bills(t, id)); diff != "" {
			t.Errorf("%s: something was written: %s", c.kind, diff)
		}
	}
	got := call(t, labSession, "POST", splitPath+"91207", `{"test_ids":[912071],"is_validate":true}`)
	if got.status != http.StatusOK || !strings.Contains(got.body, `{"status":"success","failed_validation":[],"message":"Validation results only","warnings":[{"type":"RELATION_BLOCKED","message":"crm_kit","label":"Sample kit: unlink the kit first","blocking":true}`) {
		t.Errorf("got %d %s, want status 200", got.status, got.body)
	}
}

// Sixteen callers move the same test concurrently. One must succeed; with an idempotency key, all must get the same
// response.
func TestBillSplitDoubleClicks(t *testing.T) {
	t.Parallel()
	first := newIDs()
	second := first + 1
	seedBill(t, first)
	seedBill(t, second)
	const callers = 16
	split := func(bill int, key string) (won int, bodies map[string]int) {
		answers := make([]answer, callers)
		ctx := t.Context()
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				var header []string
				if key != "" {
					header = []string{"Idempotency-Key", key}
				}
				answers[i], _ = send(ctx, stack.Endpoints.Gateway, labSession, "POST", fmt.Sprint(splitPath, bill), fmt.Sprintf(`{"test_ids":[%d1]}`, bill), header...)
			})
		}
		all.Wait()
		bodies = map[string]int{}
		for _, a := range answers {
			bodies[a.body]++
			if a.status == http.StatusOK {
				won++
			} else if a.status != http.StatusBadRequest || !strings.Contains(a.body, "TO_SPLIT_TESTS_NOT_FOUND") {
				t.Errorf("got %d %s, want status 400", a.status, a.body)
			}
		}
		return won, bodies
	}
	if won, _ := split(first, ""); won != 1 {
		t.Errorf("%d of %d won without a key", won, callers)
	}
	if won, bodies := split(second, "click"); won != callers || len(bodies) != 1 {
		t.Errorf("%d of %d got the answer: %v", won, callers, bodies)
	}
	got := call(t, labSession, "POST", fmt.Sprint(splitPath, second), fmt.Sprintf(`{"test_ids":[%d2]}`, second), "Idempotency-Key", "click")
	if got.status != http.StatusConflict || !strings.Contains(got.body, `{"status":"failed","failed_validation":[],"message":"this idempotency key was used for another request`) {
		t.Errorf("got %d %s, want status 409", got.status, got.body)
	}
	if got := strings.Count(bills(t, first, second), "split "); got != 2 {
		t.Errorf("%d splits", got)
	}
}

// The process is killed three times while it splits bills. Every bill must be either unsplit or split completely, with
// unchanged sums.
func TestBillSplitSurvivesKill(t *testing.T) {
	const count, first = 500, 92000
	db := openMySQL(t)
	seedMany(t, first, count)
	statuses, done := map[int]int{}, 0
	for range 3 {
		before := done
		var some map[int]int
		some, done = splitAll(t.Context(), first, count, func(n int) {
			if n == before+count/5 { // the first successes repeat earlier splits by their keys
				if err := stack.Kill("billsplit"); err != nil {
					t.Error(err)
				}
			}
		})
		for status, n := range some {
			statuses[status] += n
		}
		restart(t, "billsplit")
		await.True(t, "the gateway's connection to the service", func() bool {
			a, err := send(t.Context(), stack.Endpoints.Gateway, "e2e-kill", "GET", fmt.Sprint(splitPath, first, "/family"), "")
			return err == nil && a.status == http.StatusOK
		})
	}
	family := fmt.Sprintf("(SELECT id FROM billing WHERE id BETWEEN %d AND %d UNION SELECT new_bill_id FROM bill_split_audit WHERE parent_bill_id BETWEEN %[1]d AND %d)", first, first+count-1, first+count-1)
	for what, c := range map[string]struct {
		query string
		want  int
	}{
		"the totals":                        {"SELECT CAST(SUM(billTotalAmount)*100 AS SIGNED) FROM billing WHERE id IN " + family, 30_003 * count},
		"the taxes":                         {"SELECT CAST(SUM(vat)*100 AS SIGNED) FROM billing WHERE id IN " + family, 5_001 * count},
		"the tests":                         {"SELECT COUNT(*) FROM billingInfo WHERE billId_id IN " + family, 2 * count},
		"tests whose report is elsewhere":   {"SELECT COUNT(*) FROM billingInfo i JOIN labReportRelation r ON r.billingInfoId_id = i.id WHERE i.billId_id <> r.billId_id AND i.billId_id IN " + family, 0},
		"bills without a test":              {"SELECT COUNT(*) FROM billing b WHERE b.id IN " + family + " AND NOT EXISTS (SELECT 1 FROM billingInfo i WHERE i.billId_id = b.id)", 0},
		"bills that are not their tests'":   {"SELECT COUNT(*) FROM billing b WHERE b.id IN " + family + " AND b.billTotalAmount - b.vat <> (SELECT SUM(i.testAmount) FROM billingInfo i WHERE i.billId_id = b.id)", 0},
		"splits without two log entries":    {fmt.Sprintf("SELECT COUNT(*) FROM bill_split_audit a WHERE a.parent_bill_id BETWEEN %d AND %d AND (SELECT COUNT(*) FROM ActivityLog l WHERE l.category = 990 AND l.billId IN (a.parent_bill_id, a.new_bill_id)) <> 2", first, first+count-1), 0},
		"numbers of laboratory 900 missing": {fmt.Sprintf("SELECT COALESCE(MAX(labBillId), %d) - %[1]d - COUNT(*) FROM billing WHERE labId_id = 900 AND labBillId > %[1]d", first+count-1), 0},
	} {
		var got int
		if err := db.QueryRowContext(t.Context(), c.query).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s: %d, want %d, %v", what, got, c.want, err)
		}
	}
	var split int
	if err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT COUNT(*) FROM bill_split_audit WHERE parent_bill_id BETWEEN %d AND %d", first, first+count-1)).Scan(&split); err != nil {
		t.Fatal(err)
	}
	if split < done || split == count {
		t.Errorf("%d were answered with success and %d are split", done, split)
	}
	t.Logf("answers %v; %d are split", statuses, split)
	// Repeats every split with its key: then all bills are split exactly once.
	splitAll(t.Context(), first, count, func(int) {})
	if err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT COUNT(*) FROM bill_split_audit WHERE parent_bill_id BETWEEN %d AND %d", first, first+count-1)).Scan(&split); err != nil || split != count {
		t.Errorf("%d of %d are split after all: %v", split, count, err)
	}
}

// seedMany creates bills of laboratory 900 with two tests of 100.02 and 150.00 and a tax of 50.01.
func seedMany(t *testing.T, first, count int) {
	t.Helper()
	var heads, tests, reports []string
	for id := first; id < first+count; id++ {
		heads = append(heads, fmt.Sprintf(`{"id":%d,"labId_id":900,"labBillId":%[1]d,"orderNumber":"K-%[1]d","userDetailsId_id":90001,"source":"Insurance","vat":"50.01","billTotalAmount":"300.03"}`, id))
		tests = append(tests, fmt.Sprintf(`{"id":%d1,"billId_id":%[1]d,"labId_id":900,"testId_id":55,"testAmount":"100.02"},{"id":%[1]d2,"billId_id":%[1]d,"labId_id":900,"testId_id":55,"testAmount":"150.00"}`, id))
		reports = append(reports, fmt.Sprintf(`{"id":%d1,"labId_id":900,"billId_id":%[1]d,"billingInfoId_id":%[1]d1,"userDetailsId_id":90001,"reportID_id":55}`, id))
	}
	applyFixture(t, `{"sessions":[{"id":"e2e-kill","session_type":"lab_user","lab_id":900,"lab_user_id":1,"username":"kill"}],
		"mysql":{"billing":[`+strings.Join(heads, ",")+`],"billingInfo":[`+strings.Join(tests, ",")+`],"labReportRelation":[`+strings.Join(reports, ",")+`]}}`)
}

// splitAll splits every bill, with eight concurrent callers. It calls after with the number of successes so far.
func splitAll(ctx context.Context, first, count int, after func(done int)) (statuses map[int]int, done int) {
	statuses = map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan int)
	for range 8 {
		all.Go(func() {
			for id := range next {
				a, _ := send(ctx, stack.Endpoints.Gateway, "e2e-kill", "POST", fmt.Sprint(splitPath, id), fmt.Sprintf(`{"test_ids":[%d1]}`, id), "Idempotency-Key", fmt.Sprint("kill-", id))
				mu.Lock()
				statuses[a.status]++
				if a.status == http.StatusOK {
					done++
					after(done)
				}
				mu.Unlock()
			}
		})
	}
	for id := first; id < first+count; id++ {
		next <- id
	}
	close(next)
	all.Wait()
	return statuses, done
}
