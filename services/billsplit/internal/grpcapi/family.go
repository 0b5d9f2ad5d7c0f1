package grpcapi

import (
	"context"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	"github.com/labplatform/labplatform/services/billsplit/internal/family"
)

// GetFamily lists the bills that were split from one bill, with that bill.
func (s *Server) GetFamily(
	ctx context.Context, in *billsplitv1.GetFamilyRequest,
) (*billsplitv1.GetFamilyResponse, error) {
	_, lab, err := s.admit(ctx, in.LabId, in.GetBillId())
	if err != nil {
		return nil, err
	}
	f, err := s.d.Viewer.View(ctx, lab, in.GetBillId())
	if err != nil {
		return nil, err
	}
	return familyOf(f), nil
}

// ListSplittableBills lists today's bills that can be split.
func (s *Server) ListSplittableBills(
	ctx context.Context, in *billsplitv1.ListSplittableBillsRequest,
) (*billsplitv1.ListSplittableBillsResponse, error) {
	p, _, err := s.admitLab(ctx, nil)
	if err != nil {
		return nil, err
	}
	sees, page, err := worklist.Asked(p, in.Limit, in.Before)
	if err != nil {
		return nil, err
	}
	today, err := s.d.Viewer.Today(ctx, sees, page)
	if err != nil {
		return nil, err
	}
	return todayOf(today, s.d.Clock.Now()), nil
}

// MergeBill undoes a split.
func (s *Server) MergeBill(
	ctx context.Context, in *billsplitv1.MergeBillRequest,
) (*billsplitv1.MergeBillResponse, error) {
	p, lab, err := s.admit(ctx, in.LabId, in.GetBillId())
	if err != nil {
		return nil, err
	}
	result, err := s.d.Merger.Merge(ctx, family.Request{
		Lab: lab, BillID: in.GetBillId(), Actor: p.Actor(), Key: idempotency.KeyFrom(ctx),
	})
	if err != nil {
		return nil, err
	}
	return &billsplitv1.MergeBillResponse{
		Status: success, Message: saidMerged,
		Data: &billsplitv1.MergeBillData{OriginalBill: summaryOf(result.Original), MergedBill: summaryOf(result.New)},
	}, nil
}
