package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/reap"
	"github.com/labplatform/labplatform/services/callout/internal/sweep"
)

// The queries of loops read rows of all laboratories, but each change is made in the scope of one laboratory.

var (
	reapLock  = mysqldb.Lock{Service: "callout", Purpose: "reap"}
	sweepLock = mysqldb.Lock{Service: "callout", Purpose: "sweep"}
)

// Locks returns the leader locks of the outbox relay, the reaper and the sweeper.
func Locks() []mysqldb.Lock { return []mysqldb.Lock{outbox.Lock("callout"), reapLock, sweepLock} }

// Reaps is the part of the store that the reaper uses.
type Reaps struct{ *Store }

var _ reap.Store = (*Reaps)(nil)

func (s Reaps) Lead(ctx context.Context, work func(context.Context) error) error {
	return s.lead(ctx, reapLock, work)
}

// Sweeps is the part of the store that the sweeper uses.
type Sweeps struct{ *Store }

var (
	_ sweep.Store  = (*Sweeps)(nil)
	_ sweep.Inputs = (*Sweeps)(nil)
)

func (s Sweeps) Lead(ctx context.Context, work func(context.Context) error) error {
	return s.lead(ctx, sweepLock, work)
}

func (s *Store) lead(ctx context.Context, lock mysqldb.Lock, work func(context.Context) error) error {
	_, err := mysqldb.Lead(ctx, s.db, lock, work)
	return wrap("lead", err)
}

// Unjudged also returns dismissed reports with statements, because the statements have to be taken back.
func (s Sweeps) Unjudged(
	ctx context.Context, after sweep.Report, until time.Time, limit int,
) ([]sweep.Report, error) {
	var reports []sweep.Report
	err := each(ctx, s.db, "find unjudged reports", "SELECT r.labId_id, r.id, r.updatedOn FROM labReportRelation r"+
		" LEFT JOIN callout_evaluation v ON v.lab_report_id = r.id AND v.report_updated_on = r.updatedOn"+
		" WHERE r.updatedOn >= ? AND r.updatedOn < ? AND (r.updatedOn > ? OR r.id > ?) AND (r.dismissed = 0 OR EXISTS"+
		" (SELECT 1 FROM callout_statement s WHERE s.lab_report_id = r.id)) AND v.lab_report_id IS NULL"+
		" ORDER BY r.updatedOn, r.id LIMIT ?",
		[]any{after.ChangedAt.UTC(), until.UTC(), after.ChangedAt.UTC(), after.ID, limit}, func(r *sql.Rows) error {
			var report sweep.Report
			err := r.Scan(&report.LabID, &report.ID, &report.ChangedAt)
			reports = append(reports, report)
			return err
		})
	return reports, err
}

// changedInputs selects reports whose values, patient or bill changed since their evaluation. Candidates are found by
// the update times of these rows and then compared with the stored inputs. A deleted value has no such time, so every
// report with a recent notice, call or attempt is a candidate.
const changedInputs = "SELECT r.labId_id, r.id FROM (SELECT v.labReportId_id AS id FROM reportValues v WHERE v.updated_at >= ? AND v.updated_at < ?" +
	" UNION SELECT p.id FROM userDetails u JOIN labReportRelation p ON p.userDetailsId_id = u.id WHERE u.updatedOn >= ? AND u.updatedOn < ?" +
	" AND p.updatedOn >= ? UNION SELECT p.id FROM billing b JOIN labReportRelation p ON p.labId_id = b.labId_id AND p.billId_id = b.id" +
	" WHERE b.updatedOn >= ? AND b.updatedOn < ? UNION SELECT v.lab_report_id FROM callout_evaluation v WHERE v.values_sum = -1" +
	" UNION SELECT s.lab_report_id FROM callout_statement s WHERE s.kind IN ('notice', 'call', 'attempt') AND s.said_at >= ?) c" +
	" JOIN labReportRelation r ON r.id = c.id LEFT JOIN callout_evaluation e ON e.lab_report_id = r.id" +
	" LEFT JOIN userDetails u ON u.id = r.userDetailsId_id LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
	" WHERE r.id > ? AND r.dismissed = 0 AND (NOT (e.patient_updated_on <=> u.updatedOn) OR NOT (e.bill_updated_on <=> b.updatedOn)" +
	" OR NOT (e.values_sum <=> (SELECT IFNULL(SUM(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v.updated_at)), 0) FROM reportValues v" +
	" WHERE v.labReportId_id = r.id))) ORDER BY r.id LIMIT ?"

// removedWithin is how long after a statement the deletion of its value is found without a request to evaluate.
const removedWithin = 72 * time.Hour

func (s Sweeps) Changed(
	ctx context.Context, from, until, recent time.Time, after int64, limit int,
) ([]sweep.Report, error) {
	var reports []sweep.Report
	from, until = from.UTC(), until.UTC()
	said := until.Add(-removedWithin).UnixMicro()
	err := each(ctx, s.db, "find changed inputs", changedInputs,
		[]any{from, until, from, until, recent.UTC(), from, until, said, after, limit}, scanReports(&reports))
	return reports, err
}

func scanReports(into *[]sweep.Report) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var report sweep.Report
		err := r.Scan(&report.LabID, &report.ID)
		*into = append(*into, report)
		return err
	}
}

// inputDigests selects digests of inputs that have no update time. Each NULL becomes a dash, because CONCAT_WS skips
// NULL.
const inputDigests = "SELECT 'zone' AS kind, l.id AS id, CAST(CRC32(IFNULL(l.timezone, '')) AS SIGNED) AS digest FROM labs l UNION ALL" +
	" SELECT 'test', f.testId_id, CAST(SUM(CRC32(CONCAT_WS('|', f.id, f.`index`, f.`order`, f.unit, f.valueType, f.isDisabled," +
	" IFNULL(g.id, '-'), IFNULL(g.gender, '-'), IFNULL(g.ageFrom, '-'), IFNULL(g.ageFromUnit, '-'), IFNULL(g.ageTo, '-')," +
	" IFNULL(g.ageToUnit, '-'), IFNULL(g.lowerBound, '-'), IFNULL(g.upperBound, '-'), IFNULL(g.criticalLower, '-')," +
	" IFNULL(g.criticalUpper, '-'), IFNULL(g.normalTexts, '-'), IFNULL(g.criticalTexts, '-')))) AS SIGNED)" +
	" FROM ReportFormat f LEFT JOIN ReportFormatRange g ON g.reportFormatId_id = f.id GROUP BY f.testId_id"

// ChangedInputs returns the inputs whose digest changed. New inputs are stored and not returned.
func (s Sweeps) ChangedInputs(ctx context.Context) (changed []sweep.Input, err error) {
	_, err = s.db.ExecContext(ctx, "INSERT IGNORE INTO callout_input (kind, input_id, digest) "+inputDigests)
	if err != nil {
		return nil, wrap("note inputs", err)
	}
	err = each(ctx, s.db, "find changed configuration", "SELECT n.kind, n.id, n.digest"+
		" FROM ("+inputDigests+") n JOIN callout_input i"+
		" ON i.kind = n.kind AND i.input_id = n.id WHERE i.digest <> n.digest", nil, func(r *sql.Rows) error {
		var i sweep.Input
		err := r.Scan(&i.Kind, &i.ID, &i.Digest)
		changed = append(changed, i)
		return err
	})
	return changed, err
}

func (s Sweeps) OfInput(
	ctx context.Context, i sweep.Input, since time.Time, after int64, limit int,
) ([]sweep.Report, error) {
	condition, args := "r.labId_id = ?", []any{i.ID}
	if i.Kind == sweep.Test {
		condition = "(r.reportID_id = ? OR EXISTS (SELECT 1 FROM billingInfo c WHERE c.profileParentId = r.billingInfoId_id AND c.testId_id = ?)" +
			" OR EXISTS (SELECT 1 FROM reportValues v WHERE v.labReportId_id = r.id AND v.profileTestId = ?)" +
			" OR EXISTS (SELECT 1 FROM callout_unconfirmed n WHERE n.lab_report_id = r.id" +
			" AND JSON_CONTAINS(n.readings, JSON_OBJECT('ProfileTestID', ?))))"
		args = []any{i.ID, i.ID, i.ID, i.ID}
	}
	var reports []sweep.Report
	err := each(ctx, s.db, "find reports of an input", "SELECT r.labId_id, r.id FROM labReportRelation r WHERE "+condition+
		" AND (r.updatedOn >= ? OR r.criticalValues IN (1, 4)) AND r.dismissed = 0 AND r.id > ? ORDER BY r.id LIMIT ?",
		append(args, since.UTC(), after, limit), scanReports(&reports))
	return reports, err
}

// SaveInput stores the digest of an input after its reports were evaluated.
func (s Sweeps) SaveInput(ctx context.Context, i sweep.Input) error {
	_, err := s.db.ExecContext(ctx, "UPDATE callout_input SET digest = ? WHERE kind = ? AND input_id = ?", i.Digest, i.Kind, i.ID)
	return wrap("save input", err)
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
	// gone is the condition of open episodes whose report (alias r) was deleted or dismissed.
	gone = "(r.id IS NULL OR r.dismissed <> 0)"
	// openEpisodes selects open episodes (alias e) joined with their reports (alias r).
	openEpisodes = " FROM callout_episode e LEFT JOIN labReportRelation r ON r.id = e.lab_report_id WHERE e.open_report_id IS NOT NULL AND "
)

func (s Reaps) Find(ctx context.Context, kind string, changedAfter time.Time, limit int) ([]reap.Item, error) {
	now := s.clock.Now()
	after := s.defaults.After
	switch kind {
	case reap.Unadopted:
		return s.items(ctx, "find reports without an episode", "(SELECT r.labId_id, r.id FROM labReportRelation r"+
			" LEFT JOIN callout_episode e ON e.open_report_id = r.id WHERE "+open+" AND r.updatedOn >= ? AND e.id IS NULL"+
			" ORDER BY r.updatedOn LIMIT ?) UNION (SELECT r.labId_id, r.id"+openEpisodes+"r.dismissed = 0"+
			" AND r.criticalValues NOT IN (1, 4) LIMIT ?)", changedAfter.UTC(), limit, limit)
	case reap.Gone:
		return s.items(ctx, "find ended episodes", "SELECT e.lab_id, e.lab_report_id"+openEpisodes+gone+" LIMIT ?", limit)
	case reap.Overdue:
		at := now.Add(-reap.JobTime).UnixMilli()
		return s.items(ctx, "find overdue bills", "SELECT DISTINCT r.labId_id, r.billId_id"+openEpisodes+open+
			" AND "+due+" LIMIT ?", at, at, limit)
	case reap.Unclear:
		return s.items(ctx, "find values that stay unclear", "SELECT s.lab_id, s.lab_report_id FROM callout_statement s"+
			" JOIN labReportRelation r ON r.id = s.lab_report_id AND r.labId_id = s.lab_id LEFT JOIN callout_setting c ON c.lab_id = s.lab_id WHERE s.kind = 'unclear' AND s.said_at <= ? - IFNULL(c.escalate_after_minutes, ?) * 60000000"+
			" AND s.said_at >= ? AND NOT EXISTS (SELECT 1 FROM callout_statement n WHERE n.lab_report_id = s.lab_report_id AND n.id > s.id"+
			" AND (n.takes_back = s.statement_key OR n.kind = 'unclear_notice' AND n.because = s.statement_key)) ORDER BY s.id LIMIT ?",
			now.UnixMicro(), int(after.Minutes()), changedAfter.UnixMicro(), limit)
	case reap.Unconfirmed:
		return s.items(ctx, "find values that stay unconfirmed", "SELECT n.lab_id, n.lab_report_id FROM callout_unconfirmed n"+
			" JOIN labReportRelation r ON r.id = n.lab_report_id AND r.labId_id = n.lab_id LEFT JOIN callout_setting c ON c.lab_id = n.lab_id WHERE n.received_at <= ? - IFNULL(c.escalate_after_minutes, ?) * 60000000"+
			" AND n.readings IS NOT NULL AND n.looked_at < n.as_of AND n.received_at >= ? ORDER BY n.received_at LIMIT ?",
			now.UnixMicro(), int(after.Minutes()), changedAfter.UnixMicro(), limit)
	case reap.Slow:
		return s.items(ctx, "find slow waits", "SELECT e.lab_id, e.lab_report_id FROM callout_episode e JOIN callout_setting c ON c.lab_id = e.lab_id"+
			" JOIN labReportRelation r ON r.id = e.open_report_id AND "+open+" WHERE e.open_report_id IS NOT NULL AND"+
			" (e.escalations = 0 AND e.due_at > e.detected_at + c.escalate_after_minutes * 60000 + 1000"+
			" OR e.escalations > 0 AND e.due_at IS NULL AND e.escalations < c.escalate_most) LIMIT ?", limit)
	}
	return nil, fmt.Errorf("unknown kind %q", kind)
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
