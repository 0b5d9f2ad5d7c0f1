package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/escalate"
	"github.com/labplatform/labplatform/services/callout/internal/evaluate"
	"github.com/labplatform/labplatform/services/callout/internal/save"
)

// Rows are always taken in this order: the bill, reports by id, then what belongs to these. So no one waits in a
// circle.

// locked is a transaction.
type locked struct {
	store   *Store
	tx      *sql.Tx
	scope   authn.LabScope
	bill    callout.Bill
	reports []callout.Report
	formats callout.Formats
}

var (
	_ escalate.Locked = (*locked)(nil)
	_ evaluate.Locked = (*locked)(nil)
	_ save.Locked     = (*locked)(nil)
)

func (s *Store) inTx(ctx context.Context, operation string, scope authn.LabScope, work func(*locked) error) error {
	return wrap(
		operation,
		mysqldb.InTx(ctx, s.db, func(tx *sql.Tx) error { return work(&locked{store: s, tx: tx, scope: scope}) }),
	)
}

// Escalations is the store as escalate.Store.
type Escalations struct{ *Store }

var _ escalate.Store = (*Escalations)(nil)

func (s Escalations) Begin(ctx context.Context, scope authn.LabScope, work func(escalate.Locked) error) error {
	return s.inTx(ctx, "escalate", scope, func(l *locked) error { return work(l) })
}

// Evaluations is the store as evaluate.Store.
type Evaluations struct{ *Store }

var _ evaluate.Store = (*Evaluations)(nil)

func (s Evaluations) Lock(
	ctx context.Context, scope authn.LabScope, reportIDs []int64, work func(evaluate.Locked) error,
) error {
	return s.inTx(ctx, "evaluate", scope, func(l *locked) error {
		in, args := list(reportIDs)
		if err := l.take(ctx, "r.id IN ("+in+")", args); err != nil {
			return err
		}
		return work(l)
	})
}

// Callouts is the store as save.Store.
type Callouts struct{ *Store }

var _ save.Store = (*Callouts)(nil)

func (s Callouts) LockBill(
	ctx context.Context,
	scope authn.LabScope,
	billID int64,
	reportIDs []int64,
	v callout.Visibility,
	work func(save.Locked) error,
) error {
	return s.inTx(ctx, "save callout", scope, func(l *locked) (err error) {
		if l.bill, err = s.bill(ctx, l.tx, scope, billID, " FOR UPDATE"); err != nil {
			return err
		}
		in, args := list(reportIDs)
		condition, more := visible(v)
		args = append(append([]any{billID}, args...), more...)
		if err := l.take(ctx, "r.billId_id = ? AND r.id IN ("+in+")"+condition, args); err != nil {
			return err
		}
		return work(l)
	})
}

// take locks the reports, and only them, then reads them.
func (l *locked) take(ctx context.Context, condition string, args []any) error {
	// t is what the condition of a visibility speaks of; a subquery keeps it out of the lock.
	var ids []int64
	err := each(
		ctx,
		l.tx,
		"find reports",
		"SELECT r.id FROM labReportRelation r LEFT JOIN AllTests t ON t.id = r.reportID_id"+
			" WHERE r.labId_id = ? AND r.dismissed = 0 AND "+condition+" ORDER BY r.id",
		append([]any{l.scope.LabID()}, args...),
		scanIDs(&ids),
	)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := l.lockReports(ctx, ids); err != nil {
		return err
	}
	in, idArgs := list(ids)
	// Read after the lock, so that no one changes a state between the look and the decision.
	l.reports, l.formats, err = l.store.reports(
		ctx,
		l.tx,
		l.scope,
		false,
		" AND r.id IN ("+in+")"+l.ofBill()+" ORDER BY r.id",
		idArgs...)
	return err
}

func (l *locked) lockReports(ctx context.Context, ids []int64) error {
	in, args := list(ids)
	return each(ctx, l.tx, "lock reports", "SELECT id FROM labReportRelation WHERE labId_id = ? AND id IN ("+in+")"+
		" ORDER BY id FOR UPDATE", append([]any{l.scope.LabID()}, args...), scanIDs(new([]int64)))
}

// ofBill drops reports that moved to another bill before they were locked.
func (l *locked) ofBill() string {
	if l.bill.ID == 0 {
		return ""
	}
	return fmt.Sprintf(" AND r.billId_id = %d", l.bill.ID)
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

// Bill is the locked bill.
func (l *locked) Bill() callout.Bill { return l.bill }

// Reports are the locked reports.
func (l *locked) Reports() []callout.Report { return l.reports }

// Formats are those of the locked reports.
func (l *locked) Formats() callout.Formats { return l.formats }

// Move changes the state and nothing else of the row, which other services write too.
func (l *locked) Move(ctx context.Context, reportID int64, from, to callout.Status) error {
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

// Log appends to the activity log.
func (l *locked) Log(ctx context.Context, e activitylog.Entry) error {
	e.Context = "CRITICAL_CALLOUT"
	_, err := activitylog.Append(ctx, l.tx, l.scope, e)
	return wrap("log", err)
}

// Send makes a message durable with the transaction.
func (l *locked) Send(ctx context.Context, e outbox.Event) error {
	_, err := l.store.outbox.Insert(ctx, l.tx, l.store.clock.Now(), e)
	return wrap("send", err)
}

func milliseconds(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}
