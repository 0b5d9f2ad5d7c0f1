package family_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

// noon is a time on the day of storetest.BilledAt in the laboratory's zone.
var noon = storetest.BilledAt.Add(-6 * time.Hour)

func listed(t *testing.T, b storetest.Database, at time.Time, p authn.Principal, page worklist.Page) family.Today {
	t.Helper()
	sees, _, err := worklist.Asked(p, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	today, err := family.NewViewer(b.Store, clock.Fixed(at), &storetest.Counts{}, split.Rules{}).Today(t.Context(), sees, page)
	if err != nil {
		t.Fatal(err)
	}
	return today
}

var (
	asha     = authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, LabID: 12}
	wholeDay = worklist.Page{Limit: 50}
)

// TestTheListHasTheBillsThatASplitAccepts changes a bill as other programs do, and compares the list with the checks of
// an execution.
func TestTheListHasTheBillsThatASplitAccepts(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, worked())
	cases := storetest.NewCases(t, b.Store)
	accepts := func() bool {
		for _, test := range []int64{101, 102, 103} {
			failures, warnings, err := cases.Validate(t.Context(), cases.Request("", test))
			if err != nil {
				t.Fatal(err)
			}
			blocking := len(failures) > 0
			for _, w := range warnings {
				blocking = blocking || w.Blocking
			}
			if !blocking {
				return true
			}
		}
		return false
	}
	changes := map[string]string{"as it is": "DO 0", "the tests of another laboratory": "UPDATE billingInfo SET labId_id = 13",
		"lower case": "UPDATE billing SET source = ' insurance '", "another source": "UPDATE billing SET source = 'Org Pay'",
		"an advance": "UPDATE billing SET billAdvance = 1", "all dismissed": "UPDATE billingInfo SET dismissed = 1",
		"all refunded": "UPDATE billingInfo SET refunded = 1", "one test": "UPDATE billingInfo SET dismissed = 1 WHERE id IN (102, 103)",
		"one is refunded": "UPDATE billingInfo SET refunded = 1 WHERE id = 101",
		"two refunded":    "UPDATE billingInfo SET refunded = 1 WHERE id IN (101, 102)",
		"a document":      "INSERT INTO bill_attachment (lab_id, bill_id, category, file_path) VALUES (12, 9001, 'Document', 'x')",
		"a removed one":   "INSERT INTO bill_attachment (lab_id, bill_id, category, file_path, is_active) VALUES (12, 9001, 'document', 'x', 0)",
		"an image":        "INSERT INTO bill_attachment (lab_id, bill_id, category, file_path) VALUES (12, 9001, 'Image', 'x')",
	}
	for _, flag := range []string{"billLocked", "billCancelled", "billRefunded", "billWrittenOff", "isComplete", "isInvoiced"} {
		changes[flag] = "UPDATE billing SET " + flag + " = 1"
	}
	for _, guard := range bill.Guards() {
		changes[guard.Table] = "INSERT INTO " + guard.Table + " (bill_id) VALUES (9001)"
	}
	for name, change := range changes {
		b.Reset(worked())
		for _, guard := range bill.Guards() {
			b.Exec("DELETE FROM " + guard.Table)
		}
		b.Exec(change)
		today := listed(t, b, noon, asha, wholeDay)
		if got, want := len(today.Entries) == 1, accepts(); got != want || today.Total != len(today.Entries) {
			t.Errorf("%s: listed %v with total %d, a split accepts it: %v", name, got, today.Total, want)
		}
	}
}

// TestTheListIsOfTheLaboratorysDay checks that the list covers a day in India, from 18:30 UTC to 18:30 UTC.
func TestTheListIsOfTheLaboratorysDay(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, worked())
	b.Exec("INSERT INTO labs (id, labName, timezone) VALUES (12, 'Pune', 'Asia/Kolkata')")
	b.Exec("INSERT INTO organization (id, labId_id, orgFullName) VALUES (45, 12, 'Sunrise')")
	b.Exec("INSERT INTO userDetails (id, labId_id, fullName, gender, dateOfBirth, labPatientId) VALUES (501, 12, 'Meena Joshi', 'Female', '1990-03-31', 'P-7')")
	for at, want := range map[string]string{
		"2026-03-29T18:29:59Z": "2026-03-29 0", "2026-03-29T18:30:00Z": "2026-03-30 1", "2026-03-30T18:29:59Z": "2026-03-30 1", "2026-03-30T18:30:00Z": "2026-03-31 0",
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		today := listed(t, b, now, asha, wholeDay)
		if got := fmt.Sprint(today.Day, " ", today.Total); got != want {
			t.Errorf("at %s: %s, want %s", at, got, want)
		}
	}
	one := listed(t, b, noon, asha, wholeDay).Entries[0]
	if got, want := fmt.Sprint(one.ID, one.LabBillID, one.OrderNumber, one.Organization, one.Amount, one.Tests, one.Patient.Name, one.Patient.Message(noon).GetAge(), one.Patient.LabPatientID),
		fmt.Sprint(9001, 301, "ORD-1", "Sunrise", bill.Paise(112500), 3, "Meena Joshi", "35 Y", "P-7"); got != want || !one.BilledAt.Equal(storetest.BilledAt) {
		t.Errorf("the bill: %s of %s, want %s", got, one.BilledAt, want)
	}
	b.Exec("UPDATE labs SET enable_bill_split = 0")
	sees, _, err := worklist.Asked(asha, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	required, err := family.NewViewer(b.Store, clock.Fixed(noon), &storetest.Counts{}, split.Rules{RequireLabSwitch: true}).Today(t.Context(), sees, wholeDay)
	if err != nil || required.Total != 0 || listed(t, b, noon, asha, wholeDay).Total != 1 {
		t.Errorf("with the laboratory's switch off: %d bills, %v, want none where the switch is required, and else 1", required.Total, err)
	}
	b.Exec("UPDATE userDetails SET isDeleted = 1")
	if got := listed(t, b, noon, asha, wholeDay).Entries[0].Patient.Name; got != "" {
		t.Errorf("the name of a removed patient: %q, want none", got)
	}
}

// TestTheListIsOfTheLoginsSight checks that each login gets only the bills that it may see, page by page.
func TestTheListIsOfTheLoginsSight(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, worked())
	for id := range int64(4) {
		b.Exec("INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, source, billTime, branchId, orgId_id, ccId_id) VALUES (?, 12, ?, 1, 'Insurance', ?, 3, 45, 21)", 9101+id, 501+id, storetest.BilledAt)
		b.Exec("INSERT INTO billingInfo (billId_id, labId_id, testId_id) VALUES (?, 12, 1), (?, 12, 2)", 9101+id, 9101+id)
	}
	branch, organization, centre, other := asha, asha, asha, asha
	branch.BranchID, organization.OrgID, centre.CCID, other.LabID = 3, 46, 21, 14
	for name, c := range map[string]struct {
		who  authn.Principal
		page worklist.Page
		want string
	}{
		"the first page":     {asha, worklist.Page{Limit: 2}, "[9104 9103] of 5"},
		"the second":         {asha, worklist.Page{Limit: 2, Before: 9103}, "[9102 9101] of 5"},
		"the last":           {asha, worklist.Page{Limit: 2, Before: 9101}, "[9001] of 5"},
		"a branch":           {branch, wholeDay, "[9104 9103 9102 9101] of 4"},
		"an organization":    {organization, wholeDay, "[] of 0"},
		"a centre":           {centre, wholeDay, "[9104 9103 9102 9101] of 4"},
		"another laboratory": {other, wholeDay, "[] of 0"},
	} {
		today := listed(t, b, noon, c.who, c.page)
		ids := []int64{}
		for _, e := range today.Entries {
			ids = append(ids, e.ID)
		}
		if got := fmt.Sprint(ids, " of ", today.Total); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestADayCostsWhatItHas checks that the number of rows read for a day with one bill does not depend on the bills of
// other days.
func TestADayCostsWhatItHas(t *testing.T) {
	t.Parallel()
	read := map[int]int{}
	for _, others := range []int{500, 10_000} {
		b := storetest.Open(t, worked())
		const atOnce = 500 // servers limit the recursion of a query
		for from := 0; from < others; from += atOnce {
			b.Exec("INSERT INTO billing (labId_id, labBillId, userDetailsId_id, source, billTime) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"+
				" SELECT 12 + (i % 2), 100000 + ? + i, 1, 'Insurance', '2026-03-01' FROM n", atOnce, from)
		}
		b.Exec("ANALYZE TABLE billing, billingInfo")
		read[others] = mysqltest.RowsRead(t, b.DB, func() {
			if today := listed(t, b, noon, asha, wholeDay); today.Total != 1 {
				t.Errorf("total %d, want 1", today.Total)
			}
		})
	}
	t.Logf("rows read, by the number of other bills: %v", read)
	if read[500] != read[10_000] || read[500] > 1000 {
		t.Errorf("rows read, by the number of other bills: %v, want the same, at most 1000", read)
	}
}
