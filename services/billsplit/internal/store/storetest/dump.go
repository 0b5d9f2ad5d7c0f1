package storetest

import (
	"context"
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// dump reads the content of a database. It omits guarded tables, which the service does not write, and the times of
// bills, because tests use the system's clock.
func dump(t testing.TB, db *sql.DB) State {
	t.Helper()
	s := NewState()
	dumpBills(t, db, s)
	each(t, db, "SELECT id, billId_id, labId_id, COALESCE(profileParentId, 0), CAST(testAmount*100 AS SIGNED),"+
		" CAST(testConsc*100 AS SIGNED),"+
		" CAST(co_pay_amount*100 AS SIGNED), CAST(deductible_amount*100 AS SIGNED),"+
		" CAST(patientPayableAmount*100 AS SIGNED), dismissed, refunded FROM billingInfo", func(rows *sql.Rows) error {
		var r Test
		err := rows.Scan(&r.ID, &r.BillID, &r.LabID, &r.ProfileID, &r.Amount, &r.Concession, &r.CoPay, &r.Deductible,
			&r.PatientPayable, &r.Dismissed, &r.Refunded)
		s.Tests[r.ID] = r
		return err
	})
	each(t, db, "SELECT id, labId_id, billId_id, billingInfoId_id FROM labReportRelation", func(rows *sql.Rows) error {
		var id int64
		var r Report
		err := rows.Scan(&id, &r.LabID, &r.BillID, &r.TestID)
		s.Reports[id] = r
		return err
	})
	each(t, db, "SELECT id, bill_id, category, is_active FROM bill_attachment", func(rows *sql.Rows) error {
		var id int64
		var a Attachment
		err := rows.Scan(&id, &a.BillID, &a.Category, &a.Active)
		s.Attachments[id] = a
		return err
	})
	each(t, db, "SELECT lab_id, last_lab_bill_id FROM lab_bill_counter", func(rows *sql.Rows) error {
		var lab, last int64
		err := rows.Scan(&lab, &last)
		s.Counters[lab] = last
		return err
	})
	dumpHistory(t, db, &s)
	return s
}

func dumpBills(t testing.TB, db *sql.DB, s State) {
	t.Helper()
	each(t, db, "SELECT id, labId_id, labBillId, orderNumber, source, userDetailsId_id, COALESCE(orgId_id, 0), version, CAST(vat*100 AS SIGNED),"+
		" CAST(vat_percent*10000 AS SIGNED),"+
		" CAST(TDSAmount*100 AS SIGNED), CAST(billAdvance*100 AS SIGNED), CAST(co_pay_amount*100 AS SIGNED),"+
		" CAST(billConcession*100 AS SIGNED),"+
		" CAST(billTotalAmount*100 AS SIGNED), CAST(deductible_amount*100 AS SIGNED), CAST(billAdditionalAmount*100 AS"+
		" SIGNED),"+
		" CAST(patientPayableAmount*100 AS SIGNED), billLocked, billCancelled, billRefunded, billWrittenOff, isComplete,"+
		" isInvoiced FROM billing", func(rows *sql.Rows) error {
		var b Bill
		a, st := &b.Amounts, &b.State
		err := rows.Scan(
			&b.ID,
			&b.LabID,
			&b.LabBillID,
			&b.OrderNumber,
			&b.Source,
			&b.PatientID,
			&b.OrgID,
			&b.Version,
			&a.VAT,
			&a.VATPercent,
			&a.TDS,
			&a.Advance,
			&a.CoPay,
			&a.Concession,
			&a.Total,
			&a.Deductible,
			&a.Additional,
			&a.PatientPayable,
			&st.Locked,
			&st.Cancelled,
			&st.Refunded,
			&st.WrittenOff,
			&st.Complete,
			&st.Invoiced,
		)
		s.Bills[b.ID] = b
		return err
	})
}

// dumpHistory reads the splits without their amounts, and the activity log without its meta.
func dumpHistory(t testing.TB, db *sql.DB, s *State) {
	t.Helper()
	each(t, db, "SELECT parent_bill_id, a.new_bill_id, moved_billing_info_ids, COALESCE(merged_at, 0)"+
		" FROM bill_split_audit a"+
		" LEFT JOIN bill_split_merge m ON m.new_bill_id = a.new_bill_id ORDER BY a.id", func(rows *sql.Rows) error {
		var moved []byte
		var r family.Record
		if err := rows.Scan(&r.ParentID, &r.NewID, &moved, &r.MergedAt); err != nil {
			return err
		}
		s.Splits = append(s.Splits, r)
		return json.Unmarshal(moved, &s.Splits[len(s.Splits)-1].Moved)
	})
	each(t, db, "SELECT category, log_context, billId, COALESCE(labUserId, 0), labUserName, activityText FROM ActivityLog"+
		" ORDER BY id", func(rows *sql.Rows) error {
		var e activitylog.Entry
		err := rows.Scan(&e.Category, &e.Context, &e.BillID, &e.Actor.ID, &e.Actor.Name, &e.Text)
		s.Log = append(s.Log, e)
		return err
	})
}

func each(t testing.TB, db *sql.DB, query string, scan func(*sql.Rows) error) {
	t.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), query)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		must(t, scan(rows))
	}
	must(t, rows.Err())
}

// Plain returns a state without the parts that a dump omits.
func Plain(s State) State {
	s = s.Clone()
	s.Guards, s.SwitchedOff = nil, nil
	for i, r := range s.Splits {
		s.Splits[i] = family.Record{Record: split.Record{ParentID: r.ParentID, NewID: r.NewID, Moved: r.Moved},
			MergedAt: min(r.MergedAt, 1)}
	}
	for i := range s.Log {
		s.Log[i].Meta, s.Log[i].At = nil, time.Time{}
	}
	return s
}
