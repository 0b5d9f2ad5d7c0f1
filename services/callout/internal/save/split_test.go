package save_test

import (
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/save"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

// attempted returns the comment of the bill's newest attempt and the number of the laboratory's stored drafts.
func attempted(b *storetest.Fixture, bill int64) string {
	b.T.Helper()
	list, err := b.List.List(b.T.Context(), storetest.Lab(b.T, 12), bill, storetest.Everything)
	b.Must(err)
	comment := "nothing"
	if list.Draft != nil {
		comment = list.Draft.Comment
	}
	var stored int
	b.Must(b.DB.QueryRowContext(b.T.Context(), "SELECT COUNT(*) FROM CriticalCallout WHERE draft_bill_id IS NOT NULL").Scan(&stored))
	return fmt.Sprint(comment, ", stored: ", stored)
}

// split makes the second bill a split of the first one, and moves the potassium report to it.
func split(b *storetest.Fixture) {
	b.T.Helper()
	b.Exec("UPDATE billing SET orderNumber = CASE id WHEN 400 THEN 'ORD-1' ELSE 'ORD-1~2' END WHERE id IN (400, 401)")
	b.MoveToBill(storetest.Potassium, storetest.SecondBill)
}

// TestAnAttemptMovesWithItsReport splits a bill after an attempt. The attempt must be shown on the new bill, and the
// call there must end it on both bills.
func TestAnAttemptMovesWithItsReport(t *testing.T) {
	b := pending(t)
	b.Must(b.Record(save.Callout{ReportIDs: []int64{storetest.Potassium}, Draft: true, Comment: "rang twice"}))
	split(b)
	b.Want("the new bill", attempted(b, storetest.SecondBill), "rang twice, stored: 1")
	b.Want("the old bill", attempted(b, storetest.Bill), "nothing, stored: 1")
	b.Must(b.Record(save.Callout{BillID: storetest.SecondBill, ReportIDs: []int64{storetest.Potassium}}))
	b.Want("the new bill after the call", attempted(b, storetest.SecondBill), "nothing, stored: 0")
	b.MoveToBill(storetest.Potassium, storetest.Bill)
	b.Want("the old bill, merged", attempted(b, storetest.Bill), "nothing, stored: 0")
}

// TestAnAttemptThatStaysIsKept makes an attempt about both reports of a bill, then moves one report and calls it. The
// attempt about the other one must stay.
func TestAnAttemptThatStaysIsKept(t *testing.T) {
	b := pending(t)
	b.SetValue(storetest.Count, 1, "5.0")
	b.Want("evaluated", b.Judged(12, storetest.Count), "7002 CALLOUT_PENDING")
	both := []int64{storetest.Potassium, storetest.Count}
	b.Must(b.Record(save.Callout{ReportIDs: both, Draft: true, Comment: "both"}))
	split(b)
	b.Must(b.Record(save.Callout{BillID: storetest.SecondBill, ReportIDs: both[:1]}))
	b.Want("the bill of the other report", attempted(b, storetest.Bill), "both, stored: 1")
	b.Want("the new bill", attempted(b, storetest.SecondBill), "nothing, stored: 1")
}

// TestACalloutOnTheOldBillNamesTheNewOne records a callout with the bill that the report had before a split. The error
// must name the new bill.
func TestACalloutOnTheOldBillNamesTheNewOne(t *testing.T) {
	b := pending(t)
	onOld := save.Callout{ReportIDs: []int64{storetest.Potassium}}
	b.Exec("UPDATE labReportRelation SET billId_id = 401 WHERE id = 7001")
	b.Exec("UPDATE billing SET userDetailsId_id = 502 WHERE id = 401")
	b.Want("another patient's bill", reason(b.Record(onOld)), "INVALID_ARGUMENT")
	b.Exec("UPDATE billing SET userDetailsId_id = 501 WHERE id = 401")
	for name, orders := range map[string][2]string{
		"without order numbers, where it waited before": {"", ""}, "of one order": {"ORD-1", "ORD-1~1"}, "back again": {"ORD-1~12", "ORD-1"},
	} {
		b.Exec("UPDATE billing SET orderNumber = ? WHERE id = 400", orders[0])
		b.Exec("UPDATE billing SET orderNumber = ? WHERE id = 401", orders[1])
		e, ok := apperr.From(b.Record(onOld))
		if !ok || e.Kind != apperr.Conflict || e.Details != "BILL_CHANGED" || string(e.Data) != `{"bill_id":401,"lab_report_id":7001}` {
			t.Errorf("%s: %+v, want a conflict BILL_CHANGED that names bill 401", name, e)
		}
	}
	b.Want("someone of another department", reason(savedBy(b, callout.Visibility{Rule: callout.UserDepartments, PersonID: 78})), "INVALID_ARGUMENT")
	never := save.Callout{ReportIDs: []int64{7003}}
	b.Exec("UPDATE billing SET orderNumber = '' WHERE id IN (400, 401)")
	b.Want("a report that never was on the bill", reason(b.Record(never)), "INVALID_ARGUMENT")
	b.Must(b.Record(save.Callout{BillID: storetest.SecondBill, ReportIDs: []int64{storetest.Potassium}}))
}

func savedBy(b *storetest.Fixture, v callout.Visibility) error {
	by := storetest.Asha
	by.Sees = v
	yes := true
	_, err := b.Save.Save(b.T.Context(), storetest.Lab(b.T, 12), by, save.Callout{BillID: storetest.Bill,
		ReportIDs: []int64{storetest.Potassium}, Recipients: []string{"x"}, Methods: []string{"call"}, Person: "Dr Rao", ReadBack: &yes})
	return err
}
