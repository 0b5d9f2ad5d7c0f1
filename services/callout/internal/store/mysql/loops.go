package mysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

// Loops see all laboratories: they find, and what they find is changed through a scope.

var (
	reapLock  = mysqldb.Lock{Service: "callout", Purpose: "reap", Former: "reap_callout"}
	sweepLock = mysqldb.Lock{Service: "callout", Purpose: "sweep", Former: "sweep_callout"}
)

// Locks are those of the service's loops.
func Locks() []mysqldb.Lock { return []mysqldb.Lock{outbox.Lock("callout"), reapLock, sweepLock} }

// Reaps is the store as reap.Store.
type Reaps struct{ *Store }

// Lead implements reap.Store.
func (s Reaps) Lead(ctx context.Context, work func(context.Context) error) error {
	return s.lead(ctx, reapLock, work)
}

// Sweeps is the store as sweep.Store.
type Sweeps struct{ *Store }

// Lead implements sweep.Store.
func (s Sweeps) Lead(ctx context.Context, work func(context.Context) error) error {
	return s.lead(ctx, sweepLock, work)
}

func (s *Store) lead(ctx context.Context, lock mysqldb.Lock, work func(context.Context) error) error {
	_, err := mysqldb.Lead(ctx, s.db, lock, work)
	return wrap("lead", err)
}

// Unjudged implements sweep.Store.
func (s Sweeps) Unjudged(ctx context.Context, from, to time.Time, limit int) ([]sweep.Report, error) {
	var reports []sweep.Report
	err := each(ctx, s.db, "find unjudged reports", "SELECT r.labId_id, r.id FROM labReportRelation r"+
		" LEFT JOIN callout_evaluation v ON v.lab_report_id = r.id AND v.report_updated_on = r.updatedOn"+
		" WHERE r.updatedOn >= ? AND r.updatedOn < ? AND r.dismissed = 0 AND v.lab_report_id IS NULL ORDER BY r.updatedOn LIMIT ?",
		[]any{from.UTC(), to.UTC(), limit}, func(r *sql.Rows) error {
			var report sweep.Report
			if err := r.Scan(&report.LabID, &report.ID); err != nil {
				return err
			}
			reports = append(reports, report)
			return nil
		})
	return reports, err
}

// Orphans implements reap.Store.
func (s Reaps) Orphans(ctx context.Context, changedAfter time.Time, limit int) ([]reap.Item, error) {
	return s.items(ctx, "find orphans", "SELECT r.labId_id, r.id FROM labReportRelation r"+
		" LEFT JOIN callout_episode e ON e.open_report_id = r.id WHERE "+open+" AND r.updatedOn >= ? AND e.id IS NULL ORDER BY r.updatedOn LIMIT ?",
		changedAfter.UTC(), limit)
}

// Ghosts implements reap.Store.
func (s Reaps) Ghosts(ctx context.Context, now time.Time, limit int) ([]reap.Item, error) {
	const of = " FROM callout_episode e LEFT JOIN labReportRelation r ON r.id = e.lab_report_id WHERE e.open_report_id IS NOT NULL AND "
	const gone = "(r.id IS NULL OR r.dismissed <> 0 OR r.criticalValues NOT IN (1, 4))"
	const moved = "r.billId_id <> e.bill_id"
	items, err := s.items(
		ctx,
		"find ghosts",
		"SELECT DISTINCT e.lab_id, e.bill_id"+of+"("+gone+" OR "+moved+") LIMIT ?",
		limit,
	)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	if _, err := s.db.ExecContext(ctx, "UPDATE callout_episode e LEFT JOIN labReportRelation r ON r.id = e.lab_report_id"+
		" SET e.closed_at = ?, e.closed_by = 'gone' WHERE e.closed_at IS NULL AND "+gone, now.UnixMilli()); err != nil {
		return nil, wrap("end ghosts", err)
	}
	_, err = s.db.ExecContext(
		ctx,
		"UPDATE callout_episode e JOIN labReportRelation r ON r.id = e.lab_report_id SET e.bill_id = r.billId_id"+
			" WHERE e.closed_at IS NULL AND "+moved,
	)
	return items, wrap("move episodes", err)
}

// Unclocked implements reap.Store.
func (s Reaps) Unclocked(ctx context.Context, limit int) ([]reap.Item, error) {
	return s.items(ctx, "find bills without a clock", "SELECT DISTINCT e.lab_id, e.bill_id FROM callout_episode e"+
		" LEFT JOIN callout_escalation c ON c.bill_id = e.bill_id AND c.is_open = 1 WHERE e.open_report_id IS NOT NULL AND c.bill_id IS NULL"+
		" UNION SELECT c.lab_id, c.bill_id FROM callout_escalation c WHERE c.is_open = 1 AND NOT EXISTS (SELECT 1 FROM labReportRelation r"+
		" WHERE r.labId_id = c.lab_id AND r.billId_id = c.bill_id AND "+open+") LIMIT ?", limit)
}

// Overdue implements reap.Store.
func (s Reaps) Overdue(ctx context.Context, now time.Time, limit int) ([]reap.Item, error) {
	return s.items(
		ctx,
		"find overdue bills",
		"SELECT lab_id, bill_id FROM callout_escalation WHERE is_open = 1 AND due_at <= ?"+
			" ORDER BY due_at LIMIT ?",
		now.UnixMilli(),
		limit,
	)
}

func (s Reaps) items(ctx context.Context, operation, query string, args ...any) ([]reap.Item, error) {
	var items []reap.Item
	err := each(ctx, s.db, operation, query, args, func(r *sql.Rows) error {
		var i reap.Item
		if err := r.Scan(&i.LabID, &i.ID); err != nil {
			return err
		}
		items = append(items, i)
		return nil
	})
	return items, err
}

// Running implements reap.Store.
func (s Reaps) Running(ctx context.Context, after int64, limit int) ([]callout.Escalation, error) {
	var clocks []callout.Escalation
	err := each(ctx, s.db, "read running clocks", "SELECT lab_id, bill_id, due_at, job_id FROM callout_escalation"+
		" WHERE is_open = 1 AND due_at > ? AND bill_id > ? ORDER BY bill_id LIMIT ?",
		[]any{s.clock.Now().UnixMilli(), after, limit}, func(r *sql.Rows) error {
			c := callout.Escalation{Open: true}
			var due int64
			if err := r.Scan(&c.LabID, &c.BillID, &due, &c.JobID); err != nil {
				return err
			}
			c.DueAt = time.UnixMilli(due).UTC()
			clocks = append(clocks, c)
			return nil
		})
	return clocks, err
}
