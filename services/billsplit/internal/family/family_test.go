package family_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/crashdb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

const original = storetest.Original

func worked() storetest.State {
	s := storetest.Worked()
	s.Attachments[1] = storetest.Attachment{BillID: original, Category: "smart_report", Active: true}
	return s
}

func TestAFamilyAddsUp(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, worked())
	cases := storetest.NewCases(t, b.Store)
	for _, id := range []int64{103, 102} {
		if _, err := cases.Split(t.Context(), "", id); err != nil {
			t.Fatal(err)
		}
	}
	viewer := family.NewViewer(b.Store, clock.System{}, cases.Counts, split.Rules{})
	f, err := viewer.View(t.Context(), storetest.Lab(t, 12), original)
	if err != nil || len(f.Members) != 3 {
		t.Fatalf("got %+v %v, want 3", f, err)
	}
	want := worked().Bills[original].Amounts
	if diff := cmp.Diff(want, f.Sum); diff != "" {
		t.Error(diff)
	}
	if _, err := viewer.View(t.Context(), storetest.Lab(t, 13), original); !errors.Is(err, family.ErrNoBill) {
		t.Errorf("another laboratory: %v", err)
	}
}

// unversioned returns the bill with version 0.
func unversioned(b storetest.Bill) storetest.Bill {
	b.Version = 0
	return b
}

// expectBack checks that the original bill is restored after a split was undone.
func expectBack(t *testing.T, want, got storetest.State, newID int64) {
	t.Helper()
	if diff := cmp.Diff(unversioned(want.Bills[original]), unversioned(got.Bills[original])); diff != "" {
		t.Errorf("the original: %s", diff)
	}
	if made := got.Bills[newID]; made.Amounts != (bill.Amounts{}) || !made.State.Cancelled {
		t.Errorf("the new bill: %+v", made)
	}
	if diff := cmp.Diff([]any{want.Tests, want.Reports, want.Attachments}, []any{got.Tests, got.Reports, got.Attachments}); diff != "" {
		t.Errorf("around it: %s", diff)
	}
}

// TestADeathLeavesTheBillsSplitOrMerged aborts undoing a split before each of its statements; the bills must be
// completely split or merged.
func TestADeathLeavesTheBillsSplitOrMerged(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, worked())
	cases := storetest.NewCases(t, b.Store)
	var newID int64
	var before storetest.State
	open := func() string {
		b.Reset(worked())
		r, err := cases.Split(t.Context(), "", 103)
		if err != nil {
			t.Fatal(err)
		}
		newID, before = r.New.ID, storetest.Plain(b.Dump())
		return b.DSN
	}
	back := func(db *sql.DB) error {
		_, err := storetest.NewCases(t, storetest.Store(t, db)).Back(t.Context(), "key", newID)
		return err
	}
	crashes := crashdb.Each(t, open, back, func(c crashdb.Crash, _ error) {
		if diff := cmp.Diff(before, storetest.Plain(b.Dump())); c.AnswerLost == (diff == "") {
			t.Fatalf("the process %s and left (-want +got): %s", c, diff)
		}
		if _, err := cases.Back(t.Context(), "key", newID); err != nil {
			t.Fatalf("the process %s; the request again: %v", c, err)
		}
		expectBack(t, worked(), b.Dump(), newID)
	})
	if len(crashes) < 15 {
		t.Errorf("%d crashes, want one for each statement: %v", len(crashes), crashes)
	}
}

// TestChangedBillsAreNotMerged checks that a split cannot be undone after another program has changed something. In the
// statements, NEW is the new bill's id and OLD the original's.
func TestChangedBillsAreNotMerged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ reason, change string }{
		"the new bill's amounts":                    {"BILL_CHANGED", "UPDATE billing SET billAdvance = 0.01 WHERE id = NEW"},
		"the original's amounts":                    {"BILL_CHANGED", "UPDATE billing SET vat = vat + 0.01 WHERE id = OLD"},
		"the original's source":                     {"BILL_CHANGED", "UPDATE billing SET source = 'Self Pay' WHERE id = OLD"},
		"the new bill's source":                     {"BILL_CHANGED", "UPDATE billing SET source = 'Self Pay' WHERE id = NEW"},
		"the new bill's organization":               {"BILL_CHANGED", "UPDATE billing SET orgId_id = 46 WHERE id = NEW"},
		"a test was added":                          {"BILL_CHANGED", "INSERT INTO billingInfo (id, billId_id, labId_id, testId_id) VALUES (999, NEW, 12, 1)"},
		"a moved test was refunded":                 {"BILL_CHANGED", "UPDATE billingInfo SET refunded = 1 WHERE id = 103"},
		"a moved test costs less":                   {"BILL_CHANGED", "UPDATE billingInfo SET testAmount = testAmount - 100 WHERE id = 103"},
		"a moved child was dismissed":               {"BILL_CHANGED", "UPDATE billingInfo SET dismissed = 1 WHERE id = 104"},
		"the original was written and written back": {"BILL_CHANGED", "UPDATE billing SET version = version + 2 WHERE id = OLD"},
		"the new bill was written and written back": {"BILL_CHANGED", "UPDATE billing SET version = version + 2 WHERE id = NEW"},
		"a test went away":                          {"BILL_CHANGED", "DELETE FROM billingInfo WHERE id = 104"},
		"an attachment": {"BILL_CHANGED", "INSERT INTO bill_attachment (id, lab_id, bill_id, category, file_path, is_active)" +
			" VALUES (9, 12, NEW, 'image', 'x', 1)"},
		"the new bill is locked":      {bill.InvalidState, "UPDATE billing SET billLocked = 1 WHERE id = NEW"},
		"the original is invoiced":    {bill.InvalidState, "UPDATE billing SET isInvoiced = 1 WHERE id = OLD"},
		"a payment of the new bill":   {bill.RelationBlocked, "INSERT INTO payments_payment_gateway_transactions (bill_id) VALUES (NEW)"},
		"a claim for the original":    {bill.RelationBlocked, "INSERT INTO finance_insurance_claim (bill_id) VALUES (OLD)"},
		"a bill that no split made":   {"BILL_NOT_SPLIT", "DELETE FROM bill_split_audit"},
		"a bill that is not there":    {bill.NotFound, "DELETE a, b FROM bill_split_audit a, billing b WHERE b.id = NEW"},
		"it was merged back before":   {"BILL_ALREADY_MERGED", "INSERT INTO bill_split_merge (new_bill_id, lab_id, merged_at) VALUES (NEW, 12, 5)"},
		"another laboratory's by now": {bill.NotFound, "UPDATE billing SET labId_id = 13 WHERE id = NEW"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.Open(t, worked())
			cases := storetest.NewCases(t, b.Store)
			r, err := cases.Split(t.Context(), "", 103)
			if err != nil {
				t.Fatal(err)
			}
			b.Exec(strings.NewReplacer("NEW", fmt.Sprint(r.New.ID), "OLD", fmt.Sprint(original)).Replace(c.change))
			before := b.Dump()
			_, err = cases.Back(t.Context(), "", r.New.ID)
			if e, ok := apperr.From(err); !ok || e.Reason != c.reason {
				t.Errorf("merged back: %v, want %s", err, c.reason)
			}
			if diff := cmp.Diff(before, b.Dump()); diff != "" {
				t.Errorf("the refusal wrote something (-want +got): %s", diff)
			}
		})
	}
}

// TestReportsMadeSinceTheSplitAreRetired creates smart reports of both bills after the split, which the merge must
// retire. Other programs write the bills without changing who pays.
func TestReportsMadeSinceTheSplitAreRetired(t *testing.T) {
	t.Parallel()
	b, cases, split := splitOff(t)
	b.Exec("INSERT INTO bill_attachment (id, lab_id, bill_id, category, file_path, is_active) VALUES"+
		" (2, 12, ?, 'smart_report', 'x', 1), (3, 12, ?, 'smart_report', 'x', 1), (4, 12, ?, 'image', 'x', 1)", original, split, original)
	b.Exec("UPDATE billing SET docId_id = 301, billTime = NOW() WHERE id IN (?, ?)", original, split)
	if _, err := cases.Back(t.Context(), "", split); err != nil {
		t.Fatal(err)
	}
	want := worked().Attachments
	want[2] = storetest.Attachment{BillID: original, Category: "smart_report"}
	want[3] = storetest.Attachment{BillID: split, Category: "smart_report"}
	want[4] = storetest.Attachment{BillID: original, Category: "image", Active: true}
	if diff := cmp.Diff(want, b.Dump().Attachments); diff != "" {
		t.Errorf("attachments (-want +got): %s", diff)
	}
}

// splitOff returns a fixture after the test 103 was split off, with the id of the new bill.
func splitOff(t *testing.T) (b storetest.Database, cases storetest.Cases, split int64) {
	t.Helper()
	b = storetest.Open(t, worked())
	cases = storetest.NewCases(t, b.Store)
	r, err := cases.Split(t.Context(), "", 103)
	if err != nil {
		t.Fatal(err)
	}
	return b, cases, r.New.ID
}

// TestAReportOfAllResultsIsNotRestoredOverACorrectedResult corrects a result of either bill after the split. The report
// from before the split shows the wrong value and must stay retired.
func TestAReportOfAllResultsIsNotRestoredOverACorrectedResult(t *testing.T) {
	t.Parallel()
	for report, restored := range map[int64]bool{7101: false, 7103: false, 7201: true} { // 7201 is of another bill
		b := storetest.Open(t, worked())
		cases := storetest.NewCases(t, b.Store)
		b.Exec("INSERT INTO reportValues (labReportId_id, `index`, value, updated_at) VALUES (7101, 1, '100', '2026-03-30')," +
			" (7103, 1, '100', '2026-03-30')")
		b.Exec("INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id) VALUES (7201, 12, 1, 501, 1)")
		r, err := cases.Split(t.Context(), "", 103)
		if err != nil {
			t.Fatal(err)
		}
		b.Exec("REPLACE INTO reportValues (labReportId_id, `index`, value) VALUES (?, 1, '300')", report)
		if _, err := cases.Back(t.Context(), "", r.New.ID); err != nil {
			t.Fatal(err)
		}
		var active bool
		if err := b.DB.QueryRowContext(t.Context(), "SELECT is_active FROM bill_attachment WHERE id = 1").Scan(&active); err != nil {
			t.Fatal(err)
		}
		if active != restored {
			t.Errorf("a result of report %d changed: the report of before is active: %t, want %t", report, active, restored)
		}
	}
}

// TestAReportOfAllResultsIsNotRestoredOverADismissedReport dismisses a report after the split, because its sample was of
// another person: the report of before the split shows that person's result.
func TestAReportOfAllResultsIsNotRestoredOverADismissedReport(t *testing.T) {
	t.Parallel()
	b, cases, split := splitOff(t)
	b.Exec("UPDATE labReportRelation SET dismissed = 1 WHERE id = 7101")
	if _, err := cases.Back(t.Context(), "", split); err != nil {
		t.Fatal(err)
	}
	if b.Dump().Attachments[1].Active {
		t.Error("the report of before the split is active, want it retired")
	}
}

// TestAReportOfAllResultsIsNotRestoredOverARemovedResult removes a result of either bill after the split, because it was
// wrong or of another person. The report from before the split shows it and must stay retired.
func TestAReportOfAllResultsIsNotRestoredOverARemovedResult(t *testing.T) {
	t.Parallel()
	for change, restored := range map[string]bool{
		"DELETE FROM reportValues WHERE labReportId_id = 7101":                false,
		"DELETE FROM reportValues WHERE labReportId_id = 7103":                false,
		"UPDATE labReportRelation SET billId_id = 9002 WHERE id = 7101":       false,
		"UPDATE labReportRelation SET userDetailsId_id = 502 WHERE id = 7103": false,
		// the database is behind, or its zone is west of UTC
		"UPDATE reportValues SET value = '300', updated_at = '2026-03-30' WHERE labReportId_id = 7101": false,
		"UPDATE labReportRelation SET dismissed = 1, updatedOn = '2026-03-30' WHERE id = 7101":         false,
		"UPDATE labReportRelation SET comments = 'repeated' WHERE id = 7101":                           true,
		"DELETE FROM reportValues WHERE labReportId_id = 7201":                                         true, // of another bill
		"UPDATE bill_split_audit SET before_values = JSON_REMOVE(before_values, '$.results')":          true, // of an earlier version
	} {
		b := storetest.Open(t, worked())
		cases := storetest.NewCases(t, b.Store)
		b.Exec("INSERT INTO reportValues (labReportId_id, `index`, value, updated_at) VALUES (7101, 1, '100', '2026-03-30')," +
			" (7103, 1, '100', '2026-03-30'), (7201, 1, '100', '2026-03-30')")
		r, err := cases.Split(t.Context(), "", 103)
		if err != nil {
			t.Fatal(err)
		}
		b.Exec(change)
		if _, err := cases.Back(t.Context(), "", r.New.ID); err != nil {
			t.Fatal(err)
		}
		if active := b.Dump().Attachments[1].Active; active != restored {
			t.Errorf("%s: the report of before is active: %t, want %t", change, active, restored)
		}
	}
}

// TestAReportOfAllResultsIsNotRestoredOverAResultThatIsBeingWritten undoes a split while a rerun is being confirmed: the
// confirmation holds the report's row, has written the value, and commits while the merge waits.
func TestAReportOfAllResultsIsNotRestoredOverAResultThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, worked())
	cases := storetest.NewCases(t, b.Store)
	b.Exec("INSERT INTO reportValues (labReportId_id, `index`, value, updated_at) VALUES (7103, 1, '100', '2026-03-30')")
	r, err := cases.Split(t.Context(), "", 103)
	if err != nil {
		t.Fatal(err)
	}
	confirm, err := b.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"SELECT id FROM labReportRelation WHERE id = 7103 FOR UPDATE", "UPDATE reportValues SET value = '300' WHERE labReportId_id = 7103",
	} {
		if _, err := confirm.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	merged := make(chan error, 1)
	go func() {
		_, err := cases.Back(t.Context(), "", r.New.ID)
		merged <- err
	}()
	await.True(t, "the merge waits", func() bool {
		var waiting int
		err := b.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"+
			" AND trx_query LIKE '%labReportRelation%'").Scan(&waiting)
		return err == nil && waiting > 0
	})
	if err := errors.Join(confirm.Commit(), <-merged); err != nil {
		t.Fatal(err)
	}
	if b.Dump().Attachments[1].Active {
		t.Error("the report of before the split is active, want it retired")
	}
}

// TestNoReportStaysOnTheCancelledBill adds a report without a billed test to the new bill, as other programs may, and
// checks that the merge moves it.
func TestNoReportStaysOnTheCancelledBill(t *testing.T) {
	t.Parallel()
	b, cases, split := splitOff(t)
	b.Exec("INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id) VALUES (7900, 12, ?, 501, 1)", split)
	if _, err := cases.Back(t.Context(), "", split); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := b.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM labReportRelation WHERE billId_id = ?", split).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d reports are on the cancelled bill, %v; want none", left, err)
	}
}

// TestASplitOfVersion10IsUndone undoes a split with a record as version 1.0 wrote it, about a test for which the
// patient pays.
func TestASplitOfVersion10IsUndone(t *testing.T) {
	t.Parallel()
	start := worked()
	paid := start.Tests[103]
	paid.PatientPayable = 3333
	start.Tests[103] = paid
	b := storetest.Open(t, start)
	cases := storetest.NewCases(t, b.Store)
	r, err := cases.Split(t.Context(), "", 103)
	if err != nil {
		t.Fatal(err)
	}
	b.Exec("UPDATE bill_split_audit SET before_values = JSON_REMOVE(before_values, '$.bill_time', '$.new_payer')," +
		" moved_rows = JSON_REMOVE(moved_rows, '$[0].patient_payable', '$[1].patient_payable', '$[2].patient_payable')")
	if _, err := cases.Back(t.Context(), "", r.New.ID); err != nil {
		t.Fatal(err)
	}
	expectBack(t, start, b.Dump(), r.New.ID)
}

// TestARefusedMergeNamesWhatChanged refunds a moved test at a lower price after the split. The error must name the
// test, although the bill's own amounts stay.
func TestARefusedMergeNamesWhatChanged(t *testing.T) {
	t.Parallel()
	b, cases, split := splitOff(t)
	state := b.Dump()
	b.ChangeTest(103, func(row *bill.Row) { row.Refunded, row.Amount = true, row.Amount-10000 })
	_, err := cases.Back(t.Context(), "", split)
	if e, ok := apperr.From(err); !ok || e.Reason != "BILL_CHANGED" || !strings.Contains(e.Message, "these tests: 103,") {
		t.Fatalf("%v", err)
	}
	b.ChangeTest(103, func(row *bill.Row) { row.Refunded, row.Amount = false, row.Amount+10000 })
	if diff := cmp.Diff(state, b.Dump()); diff != "" {
		t.Error(diff)
	}
	if _, err := cases.Back(t.Context(), "", split); err != nil {
		t.Errorf("as it was again: %v", err)
	}
}

// TestASplitOfNothingHasItsPlaceInTheOrder splits off a test with a price, then one without. The second split must be
// undone first, although only its record shows it, not the amounts.
func TestASplitOfNothingHasItsPlaceInTheOrder(t *testing.T) {
	t.Parallel()
	start := worked()
	start.Tests[106] = storetest.Test{BillID: original, Row: bill.Row{ID: 106, LabID: 12}}
	b := storetest.Open(t, start)
	cases := storetest.NewCases(t, b.Store)
	first, err := cases.Split(t.Context(), "", 103)
	if err != nil {
		t.Fatal(err)
	}
	second, err := cases.Split(t.Context(), "", 106)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cases.Back(t.Context(), "", first.New.ID)
	later := fmt.Sprintf("merge bill %d (its id)", second.New.ID)
	if e, ok := apperr.From(err); !ok || e.Reason != "LATER_SPLIT" || !strings.Contains(e.Message, later) {
		t.Errorf("the first of two: %v", err)
	}
	for _, id := range []int64{second.New.ID, first.New.ID} {
		if _, err := cases.Back(t.Context(), "", id); err != nil {
			t.Errorf("bill %d: %v", id, err)
		}
	}
	expectBack(t, start, b.Dump(), first.New.ID)
}

func TestTheLastSplitIsUndoneFirst(t *testing.T) {
	t.Parallel()
	b := storetest.Open(t, worked())
	cases := storetest.NewCases(t, b.Store)
	first, err := cases.Split(t.Context(), "", 103)
	if err != nil {
		t.Fatal(err)
	}
	second, err := cases.Split(t.Context(), "", 102)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cases.Back(t.Context(), "", first.New.ID); !apperr.Is(err, apperr.Conflict) {
		t.Errorf("the first: %v", err)
	}
	for _, id := range []int64{second.New.ID, first.New.ID} {
		if _, err := cases.Back(t.Context(), "", id); err != nil {
			t.Errorf("bill %d: %v", id, err)
		}
	}
	expectBack(t, worked(), b.Dump(), first.New.ID)
	if third, err := cases.Split(t.Context(), "", 103); err != nil || b.Dump().Bills[third.New.ID].OrderNumber != "ORD-1~3" {
		t.Errorf("a cancelled bill's order number is given again: %v %v", b.Dump().Bills[third.New.ID], err)
	}
	if cases.Merges.Load() != 2 || cases.Changes.Load() != 5 {
		t.Errorf("%+v", cases.Counts)
	}
}
