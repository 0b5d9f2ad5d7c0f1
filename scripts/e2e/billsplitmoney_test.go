package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// insured is an insured bill of laboratory 12 and its tests, each as the fields of its row. Test n has the id ten times
// the bill's plus n.
type insured struct {
	id    int
	bill  string
	tests []string
}

func (b insured) seed(t *testing.T) {
	t.Helper()
	var rows []string
	for n, fields := range b.tests {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"billId_id":%d,"labId_id":12,"testId_id":55,%s}`, b.id*10+n+1, b.id, fields))
	}
	applyFixture(t, fmt.Sprintf(`{"mysql":{"billing":[{"id":40000000,"labId_id":12,"labBillId":50000000,"userDetailsId_id":501},
		{"id":%d,"labId_id":12,"labBillId":%[1]d,"orderNumber":"M-%[1]d","userDetailsId_id":501,"orgId_id":45,"source":"Insurance",%s}],"billingInfo":[%s]}}`,
		b.id, b.bill, strings.Join(rows, ",")))
}

// split moves the tests with these numbers. It returns the response and the new bill's id.
func (b insured) split(t *testing.T, tests ...int) (answer, int) {
	t.Helper()
	var ids []string
	for _, n := range tests {
		ids = append(ids, fmt.Sprint(b.id*10+n))
	}
	got := call(t, labSession, "POST", fmt.Sprint(splitPath, b.id), fmt.Sprintf(`{"test_ids":[%s]}`, strings.Join(ids, ",")))
	return got, newBill(t, got)
}

// amounts returns the sums of some rows of billing: total, discount, co-pay, deductible and the patient's part.
func amounts(t *testing.T, where string) string {
	t.Helper()
	var text string
	err := openMySQL(t).QueryRowContext(t.Context(), "SELECT CONCAT_WS(' ', SUM(billTotalAmount), SUM(billConcession), SUM(co_pay_amount),"+
		" SUM(deductible_amount), SUM(patientPayableAmount)) FROM billing WHERE "+where).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The patient's part of an insured bill and its discount must be distributed without a difference: in the preview, in
// the response, and in the rows of both bills. Undoing the split restores all amounts.
func TestBillSplitMovesWhatThePatientOwes(t *testing.T) {
	t.Parallel()
	const large, small = `"testAmount":"900.00"`, `"testAmount":"100.00"`
	for i, c := range []struct {
		name           string
		bill           string
		tests          []string
		parent, made   string
		warnings, lack []string
	}{
		{"a deductible of the policy", `"billTotalAmount":"1000.00","deductible_amount":"500.00","patientPayableAmount":"500.00"`, []string{large, small},
			"100.00 0.00 0.00 50.00 50.00", "900.00 0.00 0.00 450.00 450.00", []string{"PATIENT_PART_MOVED", "patientPayableAmount 450.00"}, []string{"DISAGREE"}},
		{"a co-pay of the bill", `"billTotalAmount":"1000.00","co_pay_amount":"200.00","patientPayableAmount":"200.00"`, []string{large, small},
			"100.00 0.00 20.00 0.00 20.00", "900.00 0.00 180.00 0.00 180.00", []string{"PATIENT_PART_MOVED"}, []string{"DISAGREE"}},
		{"a test that is not covered stays", `"billTotalAmount":"1000.00","patientPayableAmount":"100.00"`, []string{large, small + `,"patientPayableAmount":"100.00"`},
			"100.00 0.00 0.00 0.00 100.00", "900.00 0.00 0.00 0.00 0.00", nil, []string{"PATIENT_PART_MOVED"}},
		{"tests and bill disagree", `"billTotalAmount":"200.00","co_pay_amount":"30.00","patientPayableAmount":"30.00"`,
			[]string{small + `,"co_pay_amount":"50.00"`, small + `,"co_pay_amount":"10.00"`},
			"100.00 0.00 15.00 0.00 15.00", "100.00 0.00 15.00 0.00 15.00", []string{`BILL_AMOUNTS_DISAGREE","message":"co_pay_amount: the tests' own amounts add up to 60.00 and the bill has 30.00`}, nil},
		{"more than the new bill costs", `"billTotalAmount":"1000.00","co_pay_amount":"300.00"`, []string{small + `,"co_pay_amount":"300.00"`, large},
			"900.00 0.00 200.00 0.00 0.00", "100.00 0.00 100.00 0.00 0.00", []string{`MOVED_AMOUNT_LIMITED","message":"co_pay_amount: the chosen tests have 300.00, but 100.00 moves`}, nil},
		{"a discount of the bill", `"billTotalAmount":"900.00","billConcession":"100.00"`, []string{`"testAmount":"500.00"`, `"testAmount":"500.00"`},
			"450.00 50.00 0.00 0.00 0.00", "450.00 50.00 0.00 0.00 0.00", []string{"BILL_AMOUNTS_DISAGREE"}, nil},
	} {
		b := insured{91400 + i, c.bill, c.tests}
		b.seed(t)
		before := amounts(t, fmt.Sprint("id = ", b.id))
		preview := call(t, labSession, "POST", fmt.Sprint(splitPath, b.id), fmt.Sprintf(`{"test_ids":[%d1],"is_calculate":true}`, b.id))
		if preview.status != http.StatusOK || strings.Contains(preview.body, `"blocking":true`) {
			t.Errorf("%s: preview %d %s, want no blocking warning", c.name, preview.status, preview.body)
		}
		got, id := b.split(t, 1)
		for _, field := range []string{"co_pay_amount", "deductible_amount", "patientPayableAmount", "billConcession", "billTotalAmount"} {
			for where, of := range map[string]int{"bill": b.id, "split_bill": id} {
				shown := preview.json(t)[where].(map[string]any)[field].(float64)
				var stored float64
				queryRow(t, fmt.Sprintf("SELECT %s FROM billing WHERE id = %d", field, of)).scan(&stored)
				if shown != stored {
					t.Errorf("%s: %s of %s is %v on the preview and %v in the row", c.name, field, where, shown, stored)
				}
			}
		}
		if parent, made := amounts(t, fmt.Sprint("id = ", b.id)), amounts(t, fmt.Sprint("id = ", id)); parent != c.parent || made != c.made {
			t.Errorf("%s: %s and %s, want %s and %s", c.name, parent, made, c.parent, c.made)
		}
		if sum := amounts(t, fmt.Sprintf("id IN (%d, %d)", b.id, id)); sum != before {
			t.Errorf("%s: both bills add up to %s, want %s", c.name, sum, before)
		}
		for _, want := range c.warnings {
			if !strings.Contains(got.body, want) || !strings.Contains(preview.body, want) {
				t.Errorf("%s: %s and on the preview %s, want %s", c.name, got.body, preview.body, want)
			}
		}
		for _, lack := range c.lack {
			if strings.Contains(got.body, lack) {
				t.Errorf("%s: %s, want no %s", c.name, got.body, lack)
			}
		}
		if back := call(t, labSession, "POST", fmt.Sprint(splitPath, id, "/merge"), ""); back.status != http.StatusOK || amounts(t, fmt.Sprint("id = ", b.id)) != before {
			t.Errorf("%s: undone %d %s, and the bill has %s, want %s", c.name, back.status, back.body, amounts(t, fmt.Sprint("id = ", b.id)), before)
		}
	}
}

// Four tests of 250 on a bill with a discount of 100 must be 225 each, in whatever order they are moved.
func TestBillSplitSharesADiscountThreeTimes(t *testing.T) {
	t.Parallel()
	test := `"testAmount":"250.00"`
	b := insured{91420, `"billTotalAmount":"900.00","billConcession":"100.00"`, []string{test, test, test, test}}
	b.seed(t)
	const quarter = "225.00 25.00 0.00 0.00 0.00"
	for n := 1; n <= 3; n++ {
		if _, id := b.split(t, n); amounts(t, fmt.Sprint("id = ", id)) != quarter {
			t.Errorf("split %d: %s, want %s", n, amounts(t, fmt.Sprint("id = ", id)), quarter)
		}
	}
	if rest := amounts(t, fmt.Sprint("id = ", b.id)); rest != quarter {
		t.Errorf("the rest is %s, want %s", rest, quarter)
	}
}

// The new bill must have the date of the split. The split can be undone while the same organization pays; reports
// created since are then retired.
func TestBillSplitIsDatedAndUndoneWithItsReports(t *testing.T) {
	t.Parallel()
	b := insured{91430, `"billTotalAmount":"1000.00","billTime":"2026-03-30T12:30:00Z"`, []string{`"testAmount":"900.00"`, `"testAmount":"100.00"`}}
	b.seed(t)
	attachment := func(id, bill, active int) {
		t.Helper()
		execSQL(t, "INSERT INTO bill_attachment (id, lab_id, bill_id, category, file_path, is_active) VALUES (?, 12, ?, 'smart_report', 'x', ?)", id, bill, active)
	}
	attachment(914301, b.id, 1)
	_, id := b.split(t, 1)
	var age int
	var original string
	queryRow(t, fmt.Sprintf("SELECT TIMESTAMPDIFF(SECOND, n.billTime, UTC_TIMESTAMP(6)), DATE(o.billTime) FROM billing n JOIN billing o ON o.id = %d WHERE n.id = %d", b.id, id)).scan(&age, &original)
	if age < -60 || age > 3600 || original != "2026-03-30" {
		t.Errorf("the new bill is %d seconds old, the original of %s; want the time of the split and March", age, original)
	}
	family := call(t, labSession, "GET", fmt.Sprint(splitPath, id, "/family"), "")
	if march := fmt.Sprint(time.Date(2026, 3, 30, 12, 30, 0, 0, time.UTC).UnixMilli()); !strings.Contains(family.body, `"original_bill_time":`+march) ||
		!strings.Contains(family.body, `"bill_time":`+march+`,"original_bill_time":null`) {
		t.Errorf("%s, want the original's time %s, twice", family.body, march)
	}
	attachment(914302, b.id, 1) // belongs to the remaining part
	merge := func() answer { return call(t, labSession, "POST", fmt.Sprint(splitPath, id, "/merge"), "") }
	for _, change := range []string{"orgId_id = 46", "source = 'Self Pay'", "orgId_id = NULL", "userDetailsId_id = 502"} {
		execSQL(t, "UPDATE billing SET "+change+" WHERE id = ?", id)
		if got := merge(); got.status != http.StatusConflict || !strings.Contains(got.body, "The source, the organization or the patient of the new bill changed") {
			t.Errorf("undone with %s: %d %s, want 409", change, got.status, got.body)
		}
		execSQL(t, "UPDATE billing SET orgId_id = 45, source = 'Org Pay', userDetailsId_id = 501 WHERE id = ?", id)
	}
	execSQL(t, "UPDATE billing SET docId_id = 301 WHERE id = ?", id) // does not prevent the merge
	if got := merge(); got.status != http.StatusOK {
		t.Fatalf("got %d %s, want status 200", got.status, got.body)
	}
	var active sql.NullString
	queryRow(t, "SELECT GROUP_CONCAT(id ORDER BY id) FROM bill_attachment WHERE bill_id = 91430 AND is_active = 1").scan(&active)
	if active.String != "914301" {
		t.Errorf("smart reports %s are active, want the one of the whole bill", active.String)
	}
}

// The test checks that notes about a split for the user do not prevent it.
func TestBillSplitNotes(t *testing.T) {
	t.Parallel()
	b := insured{91440, `"billTotalAmount":"950.00"`, []string{`"testAmount":"900.00"`, `"testAmount":"-50.00"`, `"testAmount":"100.00","refunded":1`}}
	b.seed(t)
	execSQL(t, "INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id, isSigned) VALUES"+
		" (914401, 12, 91440, 914401, 501, 55, 1), (914402, 12, 91440, NULL, 501, 55, 0)")
	got, id := b.split(t, 1, 2)
	for _, want := range []string{`{"type":"ONLY_REFUNDED_TESTS_LEFT"`, `{"type":"CREDIT_LINE_MOVED"`, `REPORTS_WITHOUT_TEST_STAY","message":"These reports name no billed test, so they stay on this bill: 914402","blocking":false`,
		`SIGNED_REPORTS_MOVE","message":"These reports are signed, and their printed form names the number of this bill: 914401","blocking":false`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%s lacks %s", got.body, want)
		}
	}
	if sum := amounts(t, fmt.Sprintf("id IN (%d, %d)", b.id, id)); !strings.HasPrefix(sum, "950.00 ") {
		t.Errorf("both bills have %s, want 950.00", sum)
	}
}
