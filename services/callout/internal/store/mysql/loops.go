package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

// Loops see all laboratories: they find, and what they find is changed through a scope.

var (
	reapLock  = mysqldb.Lock{Service: "callout", Purpose: "reap"}
	sweepLock = mysqldb.Lock{Service: "callout", Purpose: "sweep"}
)

// Locks are those of the service's loops.
func Locks() []mysqldb.Lock { return []mysqldb.Lock{outbox.Lock("callout"), reapLock, sweepLock} }

// Reaps is the store as reap.Store.
type Reaps struct{ *Store }

var _ reap.Store = (*Reaps)(nil)

func (s Reaps) Lead(ctx context.Context, work func(context.Context) error) error {
	return s.lead(ctx, reapLock, work)
}

// Sweeps is the store as sweep.Store.
type Sweeps struct{ *Store }

var _ sweep.Store = (*Sweeps)(nil)

func (s Sweeps) Lead(ctx context.Context, work func(context.Context) error) error {
	return s.lead(ctx, sweepLock, work)
}

func (s *Store) lead(ctx context.Context, lock mysqldb.Lock, work func(context.Context) error) error {
	_, err := mysqldb.Lead(ctx, s.db, lock, work)
	return wrap("lead", err)
}

func (s Sweeps) Unjudged(
	ctx context.Context, after sweep.Report, until time.Time, limit int,
) ([]sweep.Report, error) {
	var reports []sweep.Report
	err := each(ctx, s.db, "find unjudged reports", "SELECT r.labId_id, r.id, r.updatedOn FROM labReportRelation r"+
		" LEFT JOIN callout_evaluation v ON v.lab_report_id = r.id AND v.report_updated_on = r.updatedOn"+
		" WHERE r.updatedOn >= ? AND r.updatedOn < ? AND (r.updatedOn > ? OR r.id > ?) AND r.dismissed = 0"+
		" AND v.lab_report_id IS NULL ORDER BY r.updatedOn, r.id LIMIT ?",
		[]any{after.ChangedAt.UTC(), until.UTC(), after.ChangedAt.UTC(), after.ID, limit}, func(r *sql.Rows) error {
			var report sweep.Report
			err := r.Scan(&report.LabID, &report.ID, &report.ChangedAt)
			reports = append(reports, report)
			return err
		})
	return reports, err
}

func (s Sweeps) SweptUntil(ctx context.Context) (until time.Time, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT swept_until FROM callout_sweep WHERE id = 1").Scan(&until)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return until, wrap("read sweep", err)
}

func (s Sweeps) SaveSweptUntil(ctx context.Context, until time.Time) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO callout_sweep (id, swept_until) VALUES (1, ?)"+
		" ON DUPLICATE KEY UPDATE swept_until = VALUES(swept_until)", until.UTC())
	return wrap("save sweep", err)
}

const (
	// gone is the condition of episodes, of reports r, that no one waits for any more.
	gone = "(r.id IS NULL OR r.dismissed <> 0)"
	// openEpisodes are joined with their reports r.
	openEpisodes = " FROM callout_episode e LEFT JOIN labReportRelation r ON r.id = e.lab_report_id WHERE e.open_report_id IS NOT NULL AND "
)

func (s Reaps) Unadopted(ctx context.Context, changedAfter time.Time, limit int) ([]reap.Item, error) {
	return s.items(ctx, "find reports without an episode", "(SELECT r.labId_id, r.id FROM labReportRelation r"+
		" LEFT JOIN callout_episode e ON e.open_report_id = r.id WHERE "+open+" AND r.updatedOn >= ? AND e.id IS NULL"+
		" ORDER BY r.updatedOn LIMIT ?) UNION (SELECT r.labId_id, r.id"+openEpisodes+"r.dismissed = 0"+
		" AND r.criticalValues NOT IN (1, 4) LIMIT ?)", changedAfter.UTC(), limit, limit)
}

func (s Reaps) Gone(ctx context.Context, limit int) ([]reap.Item, error) {
	return s.items(ctx, "find ended episodes", "SELECT e.lab_id, e.lab_report_id"+openEpisodes+gone+" LIMIT ?", limit)
}

func (s Reaps) Overdue(ctx context.Context, now time.Time, limit int) ([]reap.Item, error) {
	const query = "SELECT DISTINCT r.labId_id, r.billId_id" + openEpisodes + open + " AND " + due + " LIMIT ?"
	return s.items(ctx, "find overdue bills", query, now.UnixMilli(), limit)
}

func (s Reaps) items(ctx context.Context, operation, query string, args ...any) ([]reap.Item, error) {
	var items []reap.Item
	err := each(ctx, s.db, operation, query, args, func(r *sql.Rows) error {
		var i reap.Item
		err := r.Scan(&i.LabID, &i.ID)
		items = append(items, i)
		return err
	})
	return items, err
}

func (s Reaps) Upcoming(ctx context.Context, after int64, limit int) ([]callout.Deadline, error) {
	var deadlines []callout.Deadline
	err := each(ctx, s.db, "read deadlines", "SELECT r.labId_id, r.billId_id, MIN(e.due_at), IFNULL(MAX(j.job_id), '')"+
		" FROM callout_episode e JOIN labReportRelation r ON r.id = e.open_report_id"+
		" LEFT JOIN callout_escalation j ON j.bill_id = r.billId_id"+
		" WHERE e.open_report_id IS NOT NULL AND e.due_at > ? AND r.billId_id > ? AND "+open+
		" GROUP BY r.labId_id, r.billId_id ORDER BY r.billId_id LIMIT ?",
		[]any{s.clock.Now().UnixMilli(), after, limit}, func(r *sql.Rows) error {
			var d callout.Deadline
			var dueAt int64
			err := r.Scan(&d.LabID, &d.BillID, &dueAt, &d.JobID)
			d.DueAt = at(dueAt)
			deadlines = append(deadlines, d)
			return err
		})
	return deadlines, err
}

func (s Reaps) Figures(ctx context.Context, now time.Time) (f reap.Figures, err error) {
	var oldest sql.NullInt64
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*), IFNULL(SUM(escalations > 0 OR due_at <= ?), 0),"+
		" IFNULL(SUM(escalations > 0 AND due_at IS NULL), 0), MIN(detected_at) FROM callout_episode"+
		" WHERE open_report_id IS NOT NULL", now.UnixMilli()).Scan(&f.Open, &f.Overdue, &f.Exhausted, &oldest)
	if oldest.Valid {
		f.Oldest = max(0, now.Sub(at(oldest.Int64)))
	}
	return f, wrap("count waits", err)
}
