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

// nextBillNumber takes the laboratory's next bill number; no other transaction takes one before this one ends. Another
// program may give out numbers without the counter, so the highest number in use counts too; create notices one that it
// gives out meanwhile. The first statement takes the counter's row lock.
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
	// The row is new: its number is not told.
	err = t.tx.QueryRowContext(ctx, "SELECT last_lab_bill_id FROM lab_bill_counter WHERE lab_id = ?",
		t.lab.LabID()).Scan(&number)
	return number, mysqldb.Wrap("read bill counter", err)
}

// orderNumbers returns the laboratory's order numbers that begin with prefix. The prefix ends with the last printable
// character of ASCII, so they lie before the same prefix with the next character in its place.
func (t *transaction) orderNumbers(ctx context.Context, prefix string) ([]string, error) {
	after := prefix[:len(prefix)-1] + string(rune(prefix[len(prefix)-1]+1))
	const query = "SELECT orderNumber FROM billing WHERE labId_id = ? AND orderNumber >= ? AND orderNumber < ?"
	orders, err := mysqldb.Collect(ctx, t.tx, query, []any{t.lab.LabID(), prefix, after},
		func(row mysqldb.Row, order *string) error { return row.Scan(order) })
	return orders, mysqldb.Wrap("read order numbers", err)
}

// cloned are the columns that a new bill inherits.
const cloned = "labId_id, userDetailsId_id, orgId_id, docId_id, branchId, ccId_id"

// create adds a bill like another, except for the draft, and returns its id. No state is taken over; its version is 0.
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

// setAmounts changes the amounts of a bill and raises its version by one.
func (t *transaction) setAmounts(ctx context.Context, billID int64, a bill.Amounts) error {
	set := strings.ReplaceAll(amountColumns, ",", " = ?,") + " = ?, version = version + 1"
	result, err := t.tx.ExecContext(ctx, "UPDATE billing SET "+set+" WHERE id = ? AND labId_id = ?",
		append(amountArgs(a), billID, t.lab.LabID())...)
	return mysqldb.Wrap("change amounts", one(result, err))
}

// move gives tests and their reports to another bill. All of them must be on the bill from. Only the bill of a report
// is written: other services own the rest of the row.
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

// cancel marks the bill as cancelled.
func (t *transaction) cancel(ctx context.Context, billID int64) error {
	result, err := t.tx.ExecContext(ctx, "UPDATE billing SET billCancelled = 1 WHERE id = ? AND labId_id = ?", billID,
		t.lab.LabID())
	return mysqldb.Wrap("cancel bill", one(result, err))
}

// log appends to the activity log.
func (t *transaction) log(ctx context.Context, entries []activitylog.Entry) error {
	for _, e := range entries {
		if _, err := activitylog.Append(ctx, t.tx, t.lab, e); err != nil {
			return mysqldb.Wrap("log", err)
		}
	}
	return nil
}

// smartReports returns the ids of the bill's active reports of all results.
func (t *transaction) smartReports(ctx context.Context, billID int64) ([]int64, error) {
	query := "SELECT id FROM bill_attachment WHERE bill_id = ? AND is_active <> 0 AND category = ?" + t.lock()
	ids, err := mysqldb.Collect(ctx, t.tx, query, []any{billID, bill.SmartReport},
		func(row mysqldb.Row, id *int64) error { return row.Scan(id) })
	return ids, mysqldb.Wrap("read attachments", err)
}

// activate switches attachments of the bill on or off.
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

// exactly refuses a statement that touched another number of rows: what was checked under the lock is no longer so.
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
