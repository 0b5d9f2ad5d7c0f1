package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/labtime"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

const (
	// waitingReports selects the ids of waiting reports. The joined tables provide the columns for visibility and order.
	waitingReports = "SELECT r.id, e.id AS episode FROM labReportRelation r LEFT JOIN AllTests t ON t.id = r.reportID_id" +
		" LEFT JOIN callout_episode e ON e.open_report_id = r.id WHERE r.labId_id = ? AND " + open
	// waitingOrder sorts reports after their last escalation first, then the others by deadline; reports without a
	// deadline are last.
	waitingOrder = " ORDER BY e.due_at IS NULL AND IFNULL(e.escalations, 0) = 0, IFNULL(e.due_at, 0), e.detected_at, r.id"
	// waitingNames selects the displayed columns of the waiting reports. Its format verbs stand for waitingReports and,
	// twice, waitingOrder.
	waitingNames = "SELECT r.id, IFNULL(b.labBillId, 0), IFNULL(u.fullName, ''), IFNULL(u.labPatientId, '')," +
		" IFNULL(o.orgFullName, ''), IFNULL(d.docFullName, ''), IFNULL(e.detected_at, 0), e.due_at," +
		" IFNULL(e.escalations, 0), IFNULL(e.notices_off, 0), e.remind_at, e.parameters, e.id, " + claimColumns + " FROM (%s%s LIMIT ?) found" +
		" JOIN labReportRelation r ON r.id = found.id LEFT JOIN callout_episode e ON e.id = found.episode" +
		" LEFT JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id" +
		" LEFT JOIN userDetails u ON u.id = r.userDetailsId_id AND u.labId_id = r.labId_id" +
		" LEFT JOIN organization o ON o.id = b.orgId_id AND o.labId_id = r.labId_id" +
		" LEFT JOIN doctorDetails d ON d.id = b.docId_id AND d.labId_id = r.labId_id WHERE r.labId_id = ?%s"
)

func (s *Store) Waiting(ctx context.Context, scope authn.LabScope, v callout.Visibility, most int) (
	[]worklist.Item, callout.Formats, error,
) {
	condition, args := visible(v)
	var items []worklist.Item
	var ids []int64
	query := fmt.Sprintf(waitingNames, waitingReports+condition, waitingOrder, waitingOrder)
	err := each(ctx, s.db, "read worklist", query,
		append(append([]any{scope.LabID()}, args...), most, scope.LabID()), func(r *sql.Rows) error {
			item, id, err := s.scanItem(r)
			items, ids = append(items, item), append(ids, id)
			return err
		})
	if err != nil || len(items) == 0 {
		return nil, nil, err
	}
	reports, formats, err := s.byID(ctx, scope, ids)
	seen := make([]worklist.Item, 0, len(items))
	for i, item := range items {
		if report, ok := reports[ids[i]]; ok { // not found: dismissed after the first query
			item.Report = report
			if item.Wait != nil {
				report.Identify(item.Wait.Parameters, formats)
			}
			seen = append(seen, item)
		}
	}
	return seen, formats, err
}

func (s *Store) scanItem(r *sql.Rows) (i worklist.Item, id int64, err error) {
	var detected int64
	var dueAt, remindAt, wait sql.NullInt64
	var parameters []byte
	var claimed claimRow
	err = r.Scan(append([]any{&id, &i.LabBillID, &i.Patient, &i.PatientID, &i.Organization, &i.Referral, &detected, &dueAt,
		&i.Level, &i.NoticesOff, &remindAt, &parameters, &wait}, claimed.into()...)...)
	if err != nil {
		return i, id, err
	}
	i.Claim = claimed.facts().Held
	i.DetectedAt = s.clock.Now() // the reaper has not adopted the report yet
	if detected > 0 {
		i.DetectedAt = at(detected)
	}
	i.DueAt, i.RemindAt = atOrZero(dueAt), atOrZero(remindAt)
	if wait.Valid {
		i.Wait = &callout.Episode{ID: wait.Int64, Parameters: readParameters(parameters)}
	}
	return i, id, nil
}

func (s *Store) byID(
	ctx context.Context, scope authn.LabScope, ids []int64,
) (map[int64]callout.Report, callout.Formats, error) {
	in, args := list(ids)
	reports, formats, err := s.reports(ctx, s.db, scope, " AND r.id IN ("+in+")", args...)
	found := make(map[int64]callout.Report, len(reports))
	for _, r := range reports {
		found[r.ID] = r
	}
	return found, formats, err
}

func (s *Store) Unclear(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, after time.Time, most int,
) ([]worklist.Unclear, callout.Formats, error) {
	condition, args := visible(v)
	var list []worklist.Unclear
	var ids []int64
	err := each(ctx, s.db, "read unclear values", "SELECT r.id, b.labBillId, c.said_at FROM callout_statement c"+
		" JOIN labReportRelation r ON r.id = c.lab_report_id AND r.labId_id = c.lab_id"+
		" JOIN billing b ON b.id = r.billId_id AND b.labId_id = r.labId_id LEFT JOIN AllTests t ON t.id = r.reportID_id WHERE c.lab_id = ? AND c.kind = 'unclear' AND c.said_at >= ? AND r.dismissed = 0"+
		" AND NOT EXISTS (SELECT 1 FROM callout_statement n WHERE n.lab_report_id = c.lab_report_id AND n.takes_back = c.statement_key)"+condition+
		" ORDER BY c.said_at DESC, r.id LIMIT ?",
		append(append([]any{scope.LabID(), after.UnixMicro()}, args...), most), func(r *sql.Rows) error {
			var one worklist.Unclear
			var id, since int64
			err := r.Scan(&id, &one.LabBillID, &since)
			one.Since = time.UnixMicro(since).UTC()
			list, ids = append(list, one), append(ids, id)
			return err
		})
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	reports, formats, err := s.byID(ctx, scope, ids)
	for i := range list {
		list[i].Report = reports[ids[i]]
	}
	return list, formats, err
}

// lastClosed reads only the 200 newest waits, because a laboratory may have waits of several years.
const lastClosed = "SELECT MAX(e.closed_at) FROM (SELECT lab_report_id, closed_at FROM callout_episode WHERE lab_id = ?" +
	" ORDER BY detected_at DESC LIMIT 200) e JOIN labReportRelation r ON r.id = e.lab_report_id" +
	" LEFT JOIN AllTests t ON t.id = r.reportID_id WHERE r.labId_id = ?"

func (s *Store) State(
	ctx context.Context, scope authn.LabScope, v callout.Visibility,
) (state worklist.State, err error) {
	condition, args := visible(v)
	var last sql.NullInt64
	err = s.db.QueryRowContext(ctx, lastClosed+condition, append([]any{scope.LabID(), scope.LabID()}, args...)...).
		Scan(&last)
	if err != nil {
		return state, wrap("read last callout", err)
	}
	state.LastClosed = atOrZero(last)
	if state.Elsewhere, err = s.elsewhere(ctx, scope, v); err != nil {
		return state, err
	}
	if state.Off.Reason, state.Off.Since, err = s.NoticesOff(ctx, scope); err != nil {
		return state, err
	}
	if state.Zone, err = s.Zone(ctx, scope); err != nil {
		return state, err
	}
	state.Unconfirmed, err = s.unconfirmed(ctx, scope, v)
	return state, err
}

// elsewhere counts the waiting reports in departments that a session may not see. It returns 0 for referring doctors,
// who see only their own bills.
func (s *Store) elsewhere(ctx context.Context, scope authn.LabScope, v callout.Visibility) (n int64, err error) {
	if v.Rule == callout.Everything || v.Rule == callout.DoctorBills {
		return 0, nil
	}
	condition, args := visible(v)
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*) - IFNULL(SUM(1 = 1"+condition+"), 0) FROM labReportRelation r"+
		" LEFT JOIN AllTests t ON t.id = r.reportID_id WHERE r.labId_id = ? AND "+open, append(args, scope.LabID())...).Scan(&n)
	return n, wrap("count what waits elsewhere", err)
}

// maxUnconfirmedRead is the maximum number of rows that a list judges. It exceeds the list's limit, because most rerun
// values are not critical.
const maxUnconfirmedRead = 5000

// unconfirmed returns the newest critical rerun values, the earliest first. Reruns may never be confirmed or aborted,
// and old values must not displace new ones.
func (s *Store) unconfirmed(
	ctx context.Context, scope authn.LabScope, v callout.Visibility,
) ([]worklist.Unconfirmed, error) {
	condition, args := visible(v)
	rows := map[int64]unconfirmedRow{}
	var ids []int64
	err := each(ctx, s.db, "read unconfirmed values", unconfirmedColumns+" JOIN labReportRelation r ON r.id = n.lab_report_id AND r.labId_id ="+
		" n.lab_id LEFT JOIN AllTests t ON t.id = r.reportID_id WHERE n.lab_id = ? AND n.readings IS NOT NULL AND r.dismissed = 0"+condition+
		" ORDER BY n.received_at DESC, n.lab_report_id DESC LIMIT ?", append(append([]any{scope.LabID()}, args...), maxUnconfirmedRead),
		func(r *sql.Rows) error {
			row, err := scanUnconfirmed(r)
			rows[row.report], ids = row, append(ids, row.report)
			return err
		})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	reports, formats, err := s.byID(ctx, scope, ids)
	var found []worklist.Unconfirmed
	for _, id := range ids {
		r, row := reports[id], rows[id]
		if values := row.judge(&r, formats); r.ID != 0 && len(values.Critical) > 0 && len(found) < worklist.MaxUnconfirmed {
			found = append(found, worklist.Unconfirmed{
				Report: r, LabBillID: r.LabBillID, PatientID: r.LabPatientID, ReceivedAt: row.received, Values: values.Critical,
			})
		}
	}
	slices.Reverse(found)
	return found, err
}

// maxFigures is the maximum number of callouts that a summary reads.
const maxFigures = 200_000

func (s *Store) Figures(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, from, to, now time.Time,
) (worklist.Figures, error) {
	settings, err := s.settings(ctx, s.db, scope)
	if err != nil {
		return worklist.Figures{}, err
	}
	f := worklist.Figures{Limit: settings.After}
	var ownReport string
	var doctor []any
	if doctorID, ok := v.OwnBills(); ok {
		doctor = []any{doctorID}
		ownReport = " AND EXISTS (SELECT 1 FROM labReportRelation r WHERE r.id = lab_report_id AND r.labId_id = lab_id" + ofDoctor + ")"
	}
	condition, seen := visible(v)
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*), IFNULL(SUM(IFNULL(e.detected_at, ?) < ?), 0) FROM labReportRelation r"+
		" LEFT JOIN callout_episode e ON e.open_report_id = r.id LEFT JOIN AllTests t ON t.id = r.reportID_id WHERE r.labId_id = ? AND "+open+condition,
		append([]any{now.UnixMilli(), now.Add(-settings.After).UnixMilli(), scope.LabID()}, seen...)...).
		Scan(&f.Open, &f.Overdue)
	if err != nil {
		return f, wrap("count open callouts", err)
	}
	if f.Elsewhere, err = s.elsewhere(ctx, scope, v); err != nil {
		return f, err
	}
	err = each(
		ctx,
		s.db,
		"read callout times",
		"SELECT closed_at - detected_at FROM callout_episode WHERE lab_id = ? AND detected_at >= ?"+
			" AND detected_at < ? AND closed_by = 'called'"+ownReport+" ORDER BY detected_at DESC LIMIT ?",
		append(append([]any{scope.LabID(), from.UnixMilli(), to.UnixMilli()}, doctor...), maxFigures),
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

func (s *Store) Zone(ctx context.Context, scope authn.LabScope) (*time.Location, error) {
	zone, err := labtime.ZoneOf(ctx, s.db, scope)
	return zone, wrap("read time zone", err)
}
