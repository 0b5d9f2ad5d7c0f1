package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// nextBillNumber returns the laboratory's next bill number and locks the counter, so that no other transaction takes a
// number before this one ends. Other programs may give out numbers without the counter, so the highest used number
// counts as well. If they do so after that, create detects it. The first statement takes the row lock of the counter.
func (t *transaction) nextBillNumber(ctx context.Context) (int64, error) {
	result, err := t.tx.ExecContext(ctx, "INSERT INTO lab_bill_counter (lab_id, last_lab_bill_id)"+
		" SELECT ?, COALESCE(MAX(labBillId), 0) + 1 FROM billing WHERE labId_id = ? ON DUPLICATE KEY UPDATE"+
		" last_lab_bill_id = LAST_INSERT_ID(GREATEST(last_lab_bill_id + 1, VALUES(last_lab_bill_id)))",
		t.lab.LabID(), t.lab.LabID())
	if err != nil {
		return 0, mysqldb.Wrap("advance bill counter", err)
	}
	number, err := result.LastInsertId()
	if err != nil || number > 0 {
		return number, mysqldb.Wrap("advance bill counter", err)
	}
	// The row is new, so the number is not in LastInsertId.
	err = t.tx.QueryRowContext(ctx, "SELECT last_lab_bill_id FROM lab_bill_counter WHERE lab_id = ?",
		t.lab.LabID()).Scan(&number)
	return number, mysqldb.Wrap("read bill counter", err)
}

// orderNumbers returns the laboratory's order numbers that begin with prefix. It selects the range from prefix to the
// prefix with its last character increased, which is possible because that character is the last printable one of
// ASCII.
func (t *transaction) orderNumbers(ctx context.Context, prefix string) ([]string, error) {
	after := prefix[:len(prefix)-1] + string(rune(prefix[len(prefix)-1]+1))
	const query = "SELECT orderNumber FROM billing WHERE labId_id = ? AND orderNumber >= ? AND orderNumber < ?"
	orders, err := mysqldb.Collect(ctx, t.tx, query, []any{t.lab.LabID(), prefix, after},
		func(row mysqldb.Row, order *string) error { return row.Scan(order) })
	return orders, mysqldb.Wrap("read order numbers", err)
}

// cloned are the columns that a new bill copies from the original.
const cloned = "labId_id, userDetailsId_id, orgId_id, docId_id, branchId, ccId_id"

// create inserts a bill that is a copy of bill like, except for the fields of the draft, and returns its id. It copies
// no state, and the version is 0.
func (t *transaction) create(ctx context.Context, like int64, d split.Draft) (int64, error) {
	args := append([]any{d.LabBillID, d.OrderNumber, string(d.Source), d.BilledAt}, amountArgs(d.Amounts)...)
	result, err := t.tx.ExecContext(ctx, "INSERT INTO billing ("+cloned+", labBillId, orderNumber, source, billTime, "+
		amountColumns+")"+
		" SELECT "+cloned+", ?"+strings.Repeat(", ?", len(args)-1)+" FROM billing WHERE id = ? AND labId_id = ?",
		append(args, like, t.lab.LabID())...)
	if numberTaken(err) {
		return 0, fmt.Errorf("%w: %w", errNumberTaken, err)
	}
	if err := one(result, err); err != nil {
		return 0, mysqldb.Wrap("create bill", err)
	}
	id, err := result.LastInsertId()
	return id, mysqldb.Wrap("create bill", err)
}

// setAmounts changes the amounts of a bill and increases its version by one.
func (t *transaction) setAmounts(ctx context.Context, billID int64, a bill.Amounts) error {
	set := strings.ReplaceAll(amountColumns, ",", " = ?,") + " = ?, version = version + 1"
	result, err := t.tx.ExecContext(ctx, "UPDATE billing SET "+set+" WHERE id = ? AND labId_id = ?",
		append(amountArgs(a), billID, t.lab.LabID())...)
	return mysqldb.Wrap("change amounts", one(result, err))
}

// move moves tests with their reports to another bill. All of them must be on the bill from. Of a report, only the bill
// is written, because other services own the other columns.
func (t *transaction) move(ctx context.Context, from, to int64, tests []int64) error {
	marks, args := mysqldb.In(tests, to, from, t.lab.LabID())
	result, err := t.tx.ExecContext(ctx, "UPDATE billingInfo SET billId_id = ? WHERE billId_id = ?"+
		" AND labId_id = ? AND id IN ("+marks+")", args...)
	if err := exactly(len(tests), result, err); err != nil {
		return mysqldb.Wrap("move tests", err)
	}
	_, err = t.tx.ExecContext(ctx, "UPDATE labReportRelation SET billId_id = ? WHERE billId_id = ? AND labId_id = ?"+
		" AND billingInfoId_id IN ("+marks+")", args...)
	return mysqldb.Wrap("move reports", err)
}

// moveReports moves the remaining reports of a bill, which belong to none of its tests, to another bill.
func (t *transaction) moveReports(ctx context.Context, from, to int64) error {
	_, err := t.tx.ExecContext(ctx, "UPDATE labReportRelation SET billId_id = ? WHERE billId_id = ? AND labId_id = ?",
		to, from, t.lab.LabID())
	return mysqldb.Wrap("move reports", err)
}

// cancel marks the bill as cancelled.
func (t *transaction) cancel(ctx context.Context, billID int64) error {
	result, err := t.tx.ExecContext(ctx, "UPDATE billing SET billCancelled = 1 WHERE id = ? AND labId_id = ?", billID,
		t.lab.LabID())
	return mysqldb.Wrap("cancel bill", one(result, err))
}

// log appends entries to the activity log.
func (t *transaction) log(ctx context.Context, entries []activitylog.Entry) error {
	for _, e := range entries {
		if _, err := activitylog.Append(ctx, t.tx, t.lab, e); err != nil {
			return mysqldb.Wrap("log", err)
		}
	}
	return nil
}

// smartReports returns the ids of the bill's active reports that were created from its results.
func (t *transaction) smartReports(ctx context.Context, billID int64) ([]int64, error) {
	query := "SELECT id FROM bill_attachment WHERE bill_id = ? AND is_active <> 0 AND category = ?" + t.lock()
	ids, err := mysqldb.Collect(ctx, t.tx, query, []any{billID, bill.SmartReport},
		func(row mysqldb.Row, id *int64) error { return row.Scan(id) })
	return ids, mysqldb.Wrap("read attachments", err)
}

// activate activates or deactivates attachments of the bill.
func (t *transaction) activate(ctx context.Context, billID int64, ids []int64, active bool) error {
	if len(ids) == 0 {
		return nil
	}
	marks, args := mysqldb.In(ids, active, billID)
	_, err := t.tx.ExecContext(ctx, "UPDATE bill_attachment SET is_active = ? WHERE bill_id = ? AND id IN ("+marks+")",
		args...)
	return mysqldb.Wrap("change attachments", err)
}

func one(result sql.Result, err error) error { return exactly(1, result, err) }

// exactly returns an error if a statement changed another number of rows, because the state checked under the lock then
// no longer holds.
func exactly(want int, result sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n != int64(want) {
		return fmt.Errorf("%d rows changed under the lock, not %d", n, want)
	}
	return err
}
