package mysql

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

const waitingStatement = "SELECT r.id, b.labBillId, IFNULL(u.fullName, ''), IFNULL(u.labPatientId, ''), IFNULL(o.orgFullName, '')," +
	" IFNULL(d.docFullName, ''), IFNULL(e.detected_at, 0), c.due_at, IFNULL(c.level, 0) FROM labReportRelation r" +
	" JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
	" LEFT JOIN AllTests t ON t.id = r.reportID_id" +
	" LEFT JOIN userDetails u ON u.id = r.userDetailsId_id AND u.labId_id = r.labId_id" +
	" LEFT JOIN organization o ON o.id = b.orgId_id AND o.labId_id = r.labId_id" +
	" LEFT JOIN doctorDetails d ON d.id = b.docId_id AND d.labId_id = r.labId_id" +
	" LEFT JOIN callout_episode e ON e.open_report_id = r.id" +
	" LEFT JOIN callout_escalation c ON c.bill_id = r.billId_id AND c.is_open = 1" +
	" WHERE r.labId_id = ? AND " + open

// Waiting implements worklist.Store.
func (s *Store) Waiting(ctx context.Context, scope authn.LabScope, v callout.Visibility, most int) (
	[]worklist.Item, callout.Formats, error,
) {
	condition, args := visible(v)
	var items []worklist.Item
	var ids []int64
	at := map[int64]int{}
	err := each(
		ctx,
		s.db,
		"read worklist",
		waitingStatement+condition+" ORDER BY c.due_at IS NULL AND IFNULL(c.level, 0) = 0,"+
			" IFNULL(c.due_at, 0), e.detected_at, r.id LIMIT ?",
		append(append([]any{scope.LabID()}, args...), most),
		func(r *sql.Rows) error {
			var i worklist.Item
			var id, detected int64
			var due sql.NullInt64
			if err := r.Scan(
				&id,
				&i.LabBillID,
				&i.Patient,
				&i.PatientID,
				&i.Organization,
				&i.Referral,
				&detected,
				&due,
				&i.Level,
			); err != nil {
				return err
			}
			i.DetectedAt = s.clock.Now() // found before the reaper looked
			if detected > 0 {
				i.DetectedAt = time.UnixMilli(detected).UTC()
			}
			if due.Valid {
				i.DueAt = time.UnixMilli(due.Int64).UTC()
			}
			at[id] = len(items)
			items, ids = append(items, i), append(ids, id)
			return nil
		},
	)
	if err != nil || len(items) == 0 {
		return nil, nil, err
	}
	in, idArgs := list(ids)
	reports, formats, err := s.reports(ctx, s.db, scope, true, " AND r.id IN ("+in+")", idArgs...)
	seen := make([]worklist.Item, 0, len(items))
	for _, r := range reports {
		items[at[r.ID]].Report = r
	}
	for _, i := range items {
		if i.Report.ID != 0 { // dismissed in between
			seen = append(seen, i)
		}
	}
	return seen, formats, err
}

// mostFigures bounds how many callouts a summary reads.
const mostFigures = 200_000

// Figures implements worklist.Store.
func (s *Store) Figures(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, from, to, now time.Time,
) (worklist.Figures, error) {
	pace, err := s.paceOf(ctx, s.db, scope)
	if err != nil {
		return worklist.Figures{}, err
	}
	f := worklist.Figures{Limit: pace.After}
	var own, ownReport string
	var doctor []any
	if doctorID, ok := v.OwnBills(); ok {
		doctor = []any{doctorID}
		own, ownReport = ofDoctor, " AND EXISTS (SELECT 1 FROM labReportRelation r WHERE r.id = lab_report_id AND r.labId_id = lab_id"+
			ofDoctor+")"
	}
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*), IFNULL(SUM(IFNULL(e.detected_at, ?) < ?), 0) FROM labReportRelation r"+
		" LEFT JOIN callout_episode e ON e.open_report_id = r.id WHERE r.labId_id = ? AND "+open+own,
		append([]any{now.UnixMilli(), now.Add(-pace.After).UnixMilli(), scope.LabID()}, doctor...)...).
		Scan(&f.Open, &f.Overdue)
	if err != nil {
		return f, wrap("count open callouts", err)
	}
	err = each(
		ctx,
		s.db,
		"read callout times",
		"SELECT closed_at - detected_at FROM callout_episode WHERE lab_id = ? AND detected_at >= ?"+
			" AND detected_at < ? AND closed_by = 'called'"+ownReport+" ORDER BY detected_at DESC LIMIT ?",
		append(append([]any{scope.LabID(), from.UnixMilli(), to.UnixMilli()}, doctor...), mostFigures),
		func(r *sql.Rows) error {
			var ms int64
			if err := r.Scan(&ms); err != nil {
				return err
			}
			f.Called = append(f.Called, max(0, time.Duration(ms)*time.Millisecond))
			return nil
		},
	)
	return f, err
}

// Zone implements worklist.Store.
func (s *Store) Zone(ctx context.Context, scope authn.LabScope) (*time.Location, error) {
	var name string
	err := s.db.QueryRowContext(ctx, "SELECT timezone FROM labs WHERE id = ?", scope.LabID()).Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, wrap("read time zone", err)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, nil //nolint:nilerr // a zone that nobody knows is no reason to show no figures
	}
	return zone, nil
}
