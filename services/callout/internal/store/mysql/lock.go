package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/save"
)

// Locks are taken in this order, which prevents deadlocks: the bill, its reports by id, rows that belong to the
// reports.

// locked is a transaction that holds locks on reports, and the data read under these locks.
type locked struct {
	store       *Store
	tx          *sql.Tx
	scope       authn.LabScope
	reports     []callout.Report
	formats     callout.Formats
	inputs      map[int64]inputs         // by report
	unconfirmed map[int64]unconfirmedRow // by report
}

var (
	_ evaluate.Store = (*Store)(nil)
	_ save.Store     = (*Store)(nil)
)

func (s *Store) inTx(ctx context.Context, operation string, scope authn.LabScope, work func(*locked) error) error {
	return wrap(
		operation,
		mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error { return work(&locked{store: s, tx: tx, scope: scope}) }),
	)
}

func (s *Store) Change(
	ctx context.Context, scope authn.LabScope, reportIDs []int64, decide func(*callout.Facts) callout.Decision,
) (decisions []callout.Decision, err error) {
	err = s.inTx(ctx, "evaluate", scope, func(l *locked) error {
		if err := l.lockReports(ctx, reportIDs); err != nil {
			return err
		}
		facts, err := l.facts(ctx, reportIDs)
		if err != nil {
			return err
		}
		decisions = make([]callout.Decision, len(facts))
		for i := range facts {
			decisions[i] = decide(&facts[i])
		}
		return l.apply(ctx, decisions)
	})
	return decisions, err
}

func (s *Store) ChangeBill(
	ctx context.Context, scope authn.LabScope, billID int64, reportIDs []int64, v callout.Visibility,
	decide func([]callout.Facts) ([]callout.Decision, error),
) (decisions []callout.Decision, err error) {
	// The first consistent read of a transaction fixes its snapshot and must follow the locks. The visible reports are
	// therefore read before the transaction.
	ids, err := s.seen(ctx, scope, billID, reportIDs, v)
	if err != nil {
		return nil, err
	}
	err = s.inTx(ctx, "save callout", scope, func(l *locked) error {
		if err := s.checkBill(ctx, l.tx, scope, billID, " FOR UPDATE"); err != nil {
			return err
		}
		if err := l.lockReports(ctx, ids); err != nil {
			return err
		}
		facts, err := l.facts(ctx, ids)
		if err != nil {
			return err
		}
		onBill := facts[:0]
		for _, f := range facts { // a report may have moved to another bill before it was locked
			if f.Report.BillID == billID && (!f.Report.Dismissed || len(f.Ledger) > 0) {
				onBill = append(onBill, f)
			}
		}
		if decisions, err = decide(onBill); err != nil {
			return err
		}
		return l.apply(ctx, decisions)
	})
	return decisions, err
}

// seen returns the given reports that are on the bill, visible, and not dismissed or with a withdrawn value.
func (s *Store) seen(
	ctx context.Context, scope authn.LabScope, billID int64, reportIDs []int64, v callout.Visibility,
) (ids []int64, err error) {
	in, args := list(reportIDs)
	condition, more := visible(v)
	args = append(append([]any{scope.LabID(), billID}, args...), more...)
	err = each(ctx, s.db, "find reports", "SELECT r.id FROM labReportRelation r LEFT JOIN AllTests t ON t.id = r.reportID_id"+
		" WHERE r.labId_id = ? AND r.billId_id = ? AND (r.dismissed = 0 OR EXISTS (SELECT 1 FROM callout_statement s WHERE"+
		" s.lab_report_id = r.id AND s.kind = 'withdrawal')) AND r.id IN ("+in+")"+condition, args, scanIDs(&ids))
	return ids, err
}

// movedTo selects the present bill of a report that a split moved. Bills from a split have the first bill's order
// number with a suffix. Other bills are found through a wait or statement of the report, which stores its bill.
const movedTo = "SELECT n.id FROM labReportRelation r" +
	" JOIN billing o ON o.id = ? AND o.labId_id = r.labId_id" +
	" JOIN billing n ON n.id = r.billId_id AND n.labId_id = r.labId_id" +
	" LEFT JOIN AllTests t ON t.id = r.reportID_id" +
	" WHERE r.labId_id = ? AND r.id = ? AND r.dismissed = 0 AND n.id <> o.id AND n.userDetailsId_id = o.userDetailsId_id AND (" +
	"o.orderNumber <> '' AND REGEXP_REPLACE(o.orderNumber, '~[1-9][0-9]*$', '') = REGEXP_REPLACE(n.orderNumber, '~[1-9][0-9]*$', '')" +
	" OR EXISTS (SELECT 1 FROM callout_episode e WHERE e.lab_report_id = r.id AND e.lab_id = r.labId_id AND e.bill_id = o.id)" +
	" OR EXISTS (SELECT 1 FROM callout_statement s WHERE s.lab_report_id = r.id AND s.lab_id = r.labId_id AND s.bill_id = o.id))"

func (s *Store) MovedTo(
	ctx context.Context, scope authn.LabScope, billID, reportID int64, v callout.Visibility,
) (newBillID int64, err error) {
	condition, more := visible(v)
	args := append([]any{billID, scope.LabID(), reportID}, more...)
	err = s.db.QueryRowContext(ctx, movedTo+condition, args...).Scan(&newBillID)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return newBillID, wrap("find moved report", err)
}

func (l *locked) lockReports(ctx context.Context, ids []int64) error {
	in, args := list(ids)
	return each(ctx, l.tx, "lock reports", "SELECT id FROM labReportRelation WHERE labId_id = ? AND id IN ("+in+")"+
		" ORDER BY id FOR UPDATE", append([]any{l.scope.LabID()}, args...), scanIDs(new([]int64)))
}

func scanIDs(into *[]int64) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var id int64
		if err := r.Scan(&id); err != nil {
			return err
		}
		*into = append(*into, id)
		return nil
	}
}

// move changes the status of a report. It writes no other column, because other services update the row too.
func (l *locked) move(ctx context.Context, reportID int64, from, to callout.Status) error {
	result, err := l.tx.ExecContext(ctx, "UPDATE labReportRelation SET criticalValues = ? WHERE id = ? AND labId_id = ?"+
		" AND criticalValues = ?", to, reportID, l.scope.LabID(), from)
	if err != nil {
		return wrap("move report", err)
	}
	if n, err := result.RowsAffected(); err == nil && n != 1 {
		return fmt.Errorf("move report: %d rows changed under the lock", n)
	}
	return nil
}

func (l *locked) Log(ctx context.Context, e activitylog.Entry) error {
	e.Context = "CRITICAL_CALLOUT"
	_, err := activitylog.Append(ctx, l.tx, l.scope, e)
	return wrap("log", err)
}

func milliseconds(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}
