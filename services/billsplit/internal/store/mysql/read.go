package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

const (
	amountColumns = "vat, vat_percent, TDSAmount, billAdvance, co_pay_amount, billConcession, billTotalAmount," +
		" deductible_amount, " +
		"billAdditionalAmount, patientPayableAmount"
	headColumns = "labId_id, labBillId, orderNumber, source, userDetailsId_id, orgId_id, billTime, version, " + amountColumns +
		", billLocked, billCancelled, billRefunded, billWrittenOff, isComplete, isInvoiced"
	rowColumns = "id, labId_id, profileParentId, testAmount, testConsc, co_pay_amount, deductible_amount," +
		" patientPayableAmount, dismissed, refunded"
)

// money scans a decimal exactly.
type money struct{ into *bill.Paise }

var _ sql.Scanner = (*money)(nil)

func (m money) Scan(src any) error {
	var err error
	*m.into, err = bill.ParsePaise(text(src))
	return err
}

type percent struct{ into *bill.Percent }

var _ sql.Scanner = (*percent)(nil)

func (p percent) Scan(src any) error {
	var err error
	*p.into, err = bill.ParsePercent(text(src))
	return err
}

func text(src any) string {
	switch v := src.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	}
	return ""
}

func amountTargets(a *bill.Amounts) []any {
	return []any{
		money{&a.VAT}, percent{&a.VATPercent}, money{&a.TDS}, money{&a.Advance}, money{&a.CoPay}, money{&a.Concession},
		money{&a.Total}, money{&a.Deductible}, money{&a.Additional}, money{&a.PatientPayable},
	}
}

// amountArgs are the values of amountColumns.
func amountArgs(a bill.Amounts) []any {
	return []any{
		a.VAT.String(), a.VATPercent.String(), a.TDS.String(), a.Advance.String(), a.CoPay.String(), a.Concession.String(),
		a.Total.String(), a.Deductible.String(), a.Additional.String(), a.PatientPayable.String(),
	}
}

// scanBill reads id and headColumns.
func scanBill(row mysqldb.Row, b *bill.Bill) error {
	var lab int64
	var org sql.NullInt64
	targets := append([]any{&b.ID, &lab, &b.LabBillID, &b.OrderNumber, &b.Source, &b.PatientID, &org, &b.BilledAt,
		&b.Version}, amountTargets(&b.Amounts)...)
	st := &b.State
	err := row.Scan(append(targets, &st.Locked, &st.Cancelled, &st.Refunded, &st.WrittenOff, &st.Complete,
		&st.Invoiced)...)
	b.OrgID, b.BilledAt = org.Int64, b.BilledAt.UTC()
	return err
}

// bill returns the laboratory's bill, nil when there is none.
func (t *transaction) bill(ctx context.Context, id int64) (*bill.Bill, error) {
	var b bill.Bill
	err := scanBill(t.tx.QueryRowContext(ctx, "SELECT id, "+headColumns+" FROM billing WHERE id = ?"+
		" AND labId_id = ?"+t.lock(), id, t.lab.LabID()), &b)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, mysqldb.Wrap("read bill", err)
	}
	return &b, nil
}

// rows returns the tests of a bill by id. The bill is the laboratory's; a test on it may claim to be another's, which
// the checks refuse.
func (t *transaction) rows(ctx context.Context, billID int64) ([]bill.Row, error) {
	query := "SELECT " + rowColumns + " FROM billingInfo WHERE billId_id = ? AND EXISTS" +
		" (SELECT 1 FROM billing b WHERE b.id = billId_id AND b.labId_id = ?) ORDER BY id" + t.lock()
	list, err := mysqldb.Collect(ctx, t.tx, query, []any{billID, t.lab.LabID()},
		func(row mysqldb.Row, r *bill.Row) error { return scanRow(row, r) })
	return list, mysqldb.Wrap("read tests", err)
}

// reports returns the reports of a bill that are not dismissed, by id.
func (t *transaction) reports(ctx context.Context, billID int64) ([]bill.Report, error) {
	const query = "SELECT id, COALESCE(billingInfoId_id, 0), isSigned FROM labReportRelation" +
		" WHERE labId_id = ? AND billId_id = ? AND dismissed = 0 ORDER BY id"
	list, err := mysqldb.Collect(ctx, t.tx, query, []any{t.lab.LabID(), billID},
		func(row mysqldb.Row, r *bill.Report) error { return row.Scan(&r.ID, &r.TestID, &r.Signed) })
	return list, mysqldb.Wrap("read reports", err)
}

// scanRow reads what stands before rowColumns, and a row.
func scanRow(row mysqldb.Row, r *bill.Row, before ...any) error {
	var profile sql.NullInt64
	err := row.Scan(append(before, &r.ID, &r.LabID, &profile, money{&r.Amount}, money{&r.Concession}, money{&r.CoPay},
		money{&r.Deductible}, money{&r.PatientPayable}, &r.Dismissed, &r.Refunded)...)
	r.ProfileID = profile.Int64
	return err
}

// splittingEnabled returns the laboratory's own switch. A laboratory without a row has no switch that is off.
func (t *transaction) splittingEnabled(ctx context.Context) (bool, error) {
	enabled := true
	err := t.tx.QueryRowContext(ctx, "SELECT enable_bill_split <> 0 FROM labs WHERE id = ?", t.lab.LabID()).Scan(&enabled)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return enabled, mysqldb.Wrap("read laboratory", err)
}
