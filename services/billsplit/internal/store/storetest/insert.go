package storetest

import (
	"database/sql"
	"strings"
	"testing"
	"time"
)

// BilledAt is the creation time of every inserted bill.
var BilledAt = time.Date(2026, 3, 30, 12, 30, 0, 0, time.UTC)

// Insert writes a state into a database.
func Insert(t testing.TB, db *sql.DB, s State) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := tx.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for id, b := range s.Bills {
		a, st := b.Amounts, b.State
		exec("INSERT INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id, orgId_id, billTime, source, version, vat, vat_percent,"+
			" TDSAmount, billAdvance,"+
			" co_pay_amount, billConcession, billTotalAmount, deductible_amount, billAdditionalAmount, patientPayableAmount,"+
			" billLocked, billCancelled, billRefunded, billWrittenOff, isComplete, isInvoiced) VALUES (?"+
			strings.Repeat(",?", 24)+")",
			id, b.LabID, b.LabBillID, b.OrderNumber, b.PatientID,
			sql.NullInt64{Int64: b.OrgID, Valid: b.OrgID != 0}, BilledAt, b.Source, b.Version,
			a.VAT.String(), a.VATPercent.String(), a.TDS.String(), a.Advance.String(), a.CoPay.String(),
			a.Concession.String(), a.Total.String(), a.Deductible.String(), a.Additional.String(), a.PatientPayable.String(),
			st.Locked, st.Cancelled, st.Refunded, st.WrittenOff, st.Complete, st.Invoiced)
	}
	for id, r := range s.Tests {
		if r.Name != "" {
			exec("INSERT INTO AllTests (id, labId_id, testName) VALUES (?,?,?)", id, r.LabID, r.Name)
		}
		exec("INSERT INTO billingInfo (id, billId_id, labId_id, testId_id, profileParentId, testAmount, testConsc,"+
			" co_pay_amount, deductible_amount, patientPayableAmount,"+
			" dismissed, refunded) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", id, r.BillID, r.LabID, id,
			sql.NullInt64{Int64: r.ProfileID, Valid: r.ProfileID != 0},
			r.Amount.String(), r.Concession.String(), r.CoPay.String(), r.Deductible.String(), r.PatientPayable.String(),
			r.Dismissed, r.Refunded)
	}
	for id, r := range s.Reports {
		exec("INSERT INTO labReportRelation (id, labId_id, billId_id, billingInfoId_id, userDetailsId_id, reportID_id)"+
			" VALUES (?,?,?,?,1,1)", id, r.LabID, r.BillID, r.TestID)
	}
	for id, a := range s.Attachments {
		exec("INSERT INTO bill_attachment (id, lab_id, bill_id, category, file_path, is_active) VALUES (?,12,?,?,'x',?)",
			id, a.BillID, a.Category, a.Active)
	}
	for table, rows := range s.Guards {
		for _, r := range rows {
			if r.TestID != 0 {
				exec("INSERT INTO "+table+" (bill_id, billing_info_id) VALUES (NULLIF(?,0),?)", r.BillID, r.TestID)
			} else {
				exec("INSERT INTO "+table+" (bill_id) VALUES (?)", r.BillID)
			}
		}
	}
	for lab, last := range s.Counters {
		exec("INSERT INTO lab_bill_counter (lab_id, last_lab_bill_id) VALUES (?,?)", lab, last)
	}
	for lab := range s.SwitchedOff {
		exec("INSERT INTO labs (id, labName, enable_bill_split) VALUES (?,'',0)", lab)
	}
	must(t, tx.Commit())
}
