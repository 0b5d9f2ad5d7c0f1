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
	if _, err := s.bill(ctx, s.db, scope, billID, ""); err != nil {
		return view, err
	}
	condition, args := visible(v)
	var err error
	view.Reports, view.Formats, err = s.reports(ctx, s.db, scope, true, " AND r.billId_id = ? AND r.sampleCollected = 1"+
		" AND r.criticalValues IN (1, 2, 4)"+condition+" ORDER BY r.id", append([]any{billID}, args...)...)
	if err != nil {
		return view, err
	}
	if view.Opened, err = s.opened(ctx, scope, billID); err != nil {
		return view, err
	}
	view.Draft, err = s.draft(ctx, s.db, scope, billID)
	return view, err
}

// opened reads what the waiting reports of a bill waited for first.
func (s *Store) opened(
	ctx context.Context, scope authn.LabScope, billID int64,
) (map[int64][]callout.Parameter, error) {
	found := map[int64][]callout.Parameter{}
	err := each(ctx, s.db, "read episodes", "SELECT r.id, e.parameters FROM labReportRelation r JOIN callout_episode e"+
		" ON e.open_report_id = r.id WHERE r.labId_id = ? AND r.billId_id = ? AND "+open, []any{scope.LabID(), billID},
		func(r *sql.Rows) error {
			var id int64
			var parameters []byte
			err := r.Scan(&id, &parameters)
			found[id] = readParameters(parameters)
			return err
		})
	return found, err
}

// bill reads a bill; lock is "" or " FOR UPDATE".
func (s *Store) bill(
	ctx context.Context, q querier, scope authn.LabScope, billID int64, lock string,
) (callout.Bill, error) {
	b := callout.Bill{ID: billID}
	var org, doctor sql.NullInt64
	err := q.QueryRowContext(ctx, "SELECT orgId_id, docId_id, userDetailsId_id FROM billing WHERE id = ? AND labId_id = ?"+lock,
		billID, scope.LabID()).
		Scan(&org, &doctor, &b.PatientID)
	if errors.Is(err, sql.ErrNoRows) {
		return b, callout.ErrNoBill
	}
	b.OrgID, b.DoctorID = org.Int64, doctor.Int64
	return b, wrap("read bill", err)
}

func (s *Store) draft(ctx context.Context, q querier, scope authn.LabScope, billID int64) (*callout.Draft, error) {
	var d callout.Draft
	var recipients []byte
	err := q.QueryRowContext(ctx, "SELECT recipients, IFNULL(critical_callout_comment, ''), critical_values_meta,"+
		" critical_callout_meta FROM CriticalCallout WHERE lab_id = ? AND draft_bill_id = ?", scope.LabID(), billID).
		Scan(&recipients, &d.Comment, &d.ValuesMeta, &d.CalloutMeta)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	d.Recipients = callout.Texts(recipients)
	d.ValuesMeta, d.CalloutMeta = callout.Object(d.ValuesMeta), callout.Object(d.CalloutMeta)
	return &d, wrap("read draft", err)
}
