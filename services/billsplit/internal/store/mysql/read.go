package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

const rowColumns = "id, labId_id, profileParentId, testAmount, testConsc, co_pay_amount, deductible_amount," +
	" patientPayableAmount, dismissed, refunded"

var (
	amountColumns = strings.Join(amountNames(), ", ")
	headColumns   = "labId_id, labBillId, orderNumber, source, userDetailsId_id, orgId_id, billTime, version, " +
		amountColumns + ", billLocked, billCancelled, billRefunded, billWrittenOff, isComplete, isInvoiced"
)

func amountNames() []string {
	var names []string
	for _, f := range (&bill.Amounts{}).Fields() {
		names = append(names, f.Name)
	}
	return names
}

// number scans a decimal exactly.
type number struct{ bill.Number }

var _ sql.Scanner = number{}

func (n number) Scan(src any) error {
	switch v := src.(type) {
	case []byte:
		return n.Set(string(v))
	case string:
		return n.Set(v)
	}
	return n.Set("")
}

func amountTargets(a *bill.Amounts) []any {
	var targets []any
	for _, f := range a.Fields() {
		targets = append(targets, number{f.Value})
	}
	return targets
}

// amountArgs returns the arguments for amountColumns.
func amountArgs(a bill.Amounts) []any {
	var args []any
	for _, f := range a.Fields() {
		args = append(args, f.Value.String())
	}
	return args
}

// scanBill scans id and headColumns.
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

// bill returns the laboratory's bill; nil if there is none.
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

// rows returns the tests of a bill by id. The bill belongs to the laboratory. A test on it may name another laboratory,
// which the checks reject.
func (t *transaction) rows(ctx context.Context, billID int64) ([]bill.Row, error) {
	query := "SELECT " + rowColumns + " FROM billingInfo WHERE billId_id = ? AND EXISTS" +
		" (SELECT 1 FROM billing b WHERE b.id = billId_id AND b.labId_id = ?) ORDER BY id" + t.lock()
	list, err := mysqldb.Collect(ctx, t.tx, query, []any{billID, t.lab.LabID()},
		func(row mysqldb.Row, r *bill.Row) error { return scanRow(row, r) })
	return list, mysqldb.Wrap("read tests", err)
}

// reports returns the reports of a bill by id, without dismissed ones.
func (t *transaction) reports(ctx context.Context, billID int64) ([]bill.Report, error) {
	const query = "SELECT id, COALESCE(billingInfoId_id, 0), isSigned FROM labReportRelation" +
		" WHERE labId_id = ? AND billId_id = ? AND dismissed = 0 ORDER BY id"
	list, err := mysqldb.Collect(ctx, t.tx, query, []any{t.lab.LabID(), billID},
		func(row mysqldb.Row, r *bill.Report) error { return row.Scan(&r.ID, &r.TestID, &r.Signed) })
	return list, mysqldb.Wrap("read reports", err)
}

// scanRow scans the columns in before, then rowColumns.
func scanRow(row mysqldb.Row, r *bill.Row, before ...any) error {
	var profile sql.NullInt64
	err := row.Scan(append(before, &r.ID, &r.LabID, &profile, number{&r.Amount}, number{&r.Concession}, number{&r.CoPay},
		number{&r.Deductible}, number{&r.PatientPayable}, &r.Dismissed, &r.Refunded)...)
	r.ProfileID = profile.Int64
	return err
}

// splittingEnabled returns the laboratory's own switch. It is on for a laboratory without a row.
func (t *transaction) splittingEnabled(ctx context.Context) (bool, error) {
	enabled := true
	err := t.tx.QueryRowContext(ctx, "SELECT enable_bill_split <> 0 FROM labs WHERE id = ?", t.lab.LabID()).Scan(&enabled)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return enabled, mysqldb.Wrap("read laboratory", err)
}
