package grpcapi

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	externaleditv1 "github.com/labplatform/labplatform/proto/gen/lab/externaledit/v1"
	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Holds lists reports with an active session.
type Holds interface {
	Held(ctx context.Context, s sight.Sight, now time.Time, p worklist.Page) (worklist.List[session.HeldReport], error)
}

// ListHeldReports returns a page of the reports with an active session.
func (s *Server) ListHeldReports(
	ctx context.Context, in *externaleditv1.ListHeldReportsRequest,
) (*externaleditv1.ListHeldReportsResponse, error) {
	defer s.begin(ctx, opHeld, editAttribute, 0)()
	c, err := s.callerOf(ctx)
	if err != nil {
		return nil, err
	}
	if !c.IsStaff() && c.SessionType != authn.Doctor {
		return nil, errStaffOnly
	}
	if err := s.d.Limits.List(ctx, c.Principal); err != nil {
		return nil, err
	}
	sees, page, err := worklist.Asked(c.Principal, in.Limit, in.Before)
	if err != nil {
		return nil, err
	}
	now := s.d.Clock.Now()
	list, err := s.d.Holds.Held(ctx, sees, now, page)
	if err != nil {
		return nil, err
	}
	out := &externaleditv1.ListHeldReportsResponse{Total: int32(list.Total), LimitReached: list.More}
	for _, h := range list.Entries {
		out.Reports = append(out.Reports, heldOf(&h, now))
	}
	return out, nil
}

func heldOf(h *session.HeldReport, now time.Time) *externaleditv1.HeldReport {
	out := &externaleditv1.HeldReport{
		EditId: h.EditID, LabReportId: h.ReportID, TestName: h.TestName, SampleId: h.SampleID, AuthorName: h.AuthorName,
		CreatedAt: h.CreatedAt.UnixMilli(), UpdatedAt: h.UpdatedAt.UnixMilli(), Patient: h.Patient.Message(now),
	}
	if h.LabBillID != 0 {
		out.LabBillId = &h.LabBillID
	}
	return out
}
