package mysql

import (
	"context"
	"database/sql"
	"errors"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/records"
)

func (s *Store) View(
	ctx context.Context, scope authn.LabScope, billID int64, v callout.Visibility,
) (records.View, error) {
	var view records.View
	if err := s.checkBill(ctx, s.db, scope, billID, ""); err != nil {
		return view, err
	}
	condition, args := visible(v)
	var err error
	view.Reports, view.Formats, err = s.reports(ctx, s.db, scope, " AND r.billId_id = ? AND r.sampleCollected = 1"+
		" AND (r.criticalValues IN (1, 2, 4) OR EXISTS (SELECT 1 FROM callout_statement s WHERE s.lab_report_id = r.id"+
		" AND s.kind = 'suppression'))"+condition+" ORDER BY r.id", append([]any{billID}, args...)...)
	if err != nil {
		return view, err
	}
	ids := make([]int64, len(view.Reports))
	for i, r := range view.Reports {
		ids[i] = r.ID
	}
	if view.Ledgers, err = s.ledgers(ctx, s.db, scope, ids); err != nil {
		return view, err
	}
	for i := range view.Reports {
		r := &view.Reports[i]
		for j := range view.Ledgers[r.ID] {
			r.Identify(view.Ledgers[r.ID][j].Parameters, view.Formats)
		}
	}
	if view.Waits, err = s.waits(ctx, scope, billID); err != nil {
		return view, err
	}
	view.Draft, err = s.draft(ctx, s.db, scope, billID)
	return view, err
}

// waits reads the open waits of a bill's reports.
func (s *Store) waits(ctx context.Context, scope authn.LabScope, billID int64) (map[int64]callout.Episode, error) {
	found := map[int64]callout.Episode{}
	err := each(ctx, s.db, "read waits", episodeColumns+" JOIN labReportRelation r ON e.open_report_id = r.id"+
		" WHERE r.labId_id = ? AND r.billId_id = ? AND "+open, []any{scope.LabID(), billID},
		func(r *sql.Rows) error {
			e, err := scanEpisode(r)
			found[e.ReportID] = e
			return err
		})
	return found, err
}

// checkBill returns callout.ErrNoBill if the laboratory does not have the bill. lock is "" or " FOR UPDATE".
func (s *Store) checkBill(ctx context.Context, q querier, scope authn.LabScope, billID int64, lock string) error {
	var id int64
	err := q.QueryRowContext(ctx, "SELECT id FROM billing WHERE id = ? AND labId_id = ?"+lock, billID, scope.LabID()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return callout.ErrNoBill
	}
	return wrap("read bill", err)
}

func (s *Store) draft(ctx context.Context, q querier, scope authn.LabScope, billID int64) (*callout.Draft, error) {
	var d callout.Draft
	var recipients []byte
	err := q.QueryRowContext(ctx, "SELECT recipients, IFNULL(critical_callout_comment, ''), critical_values_meta,"+
		" critical_callout_meta, created_on FROM CriticalCallout WHERE lab_id = ? AND draft_bill_id = ?", scope.LabID(), billID).
		Scan(&recipients, &d.Comment, &d.ValuesMeta, &d.CalloutMeta, &d.At)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	d.Recipients = callout.Texts(recipients)
	d.ValuesMeta, d.CalloutMeta = callout.Object(d.ValuesMeta), callout.Object(d.CalloutMeta)
	return &d, wrap("read draft", err)
}
