package grpcapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/rpcerr"
	billsplitv1 "github.com/labplatform/labplatform/proto/gen/lab/billsplit/v1"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

const (
	success = "success"
	failed  = "failed"
)

// Documented messages of the modes.
const (
	saidValid     = "Validation results only"
	saidFailed    = "Bill split validation failed"
	saidCalculate = "Billing calculations"
	saidSplit     = "Bill split successfully"
	saidMerged    = "Bills merged successfully"
)

// SplitBill validates, calculates or executes a split. If both flags are set, it validates.
func (s *Server) SplitBill(
	ctx context.Context, in *billsplitv1.SplitBillRequest,
) (*billsplitv1.SplitBillResponse, error) {
	p, lab, err := s.admit(ctx, in.LabId, in.GetBillId())
	if err != nil {
		return nil, err
	}
	r := split.Request{Lab: lab, BillID: in.GetBillId(), Actor: p.Actor()}
	if r.Tests, err = testsOf(in.GetTestIds().GetJson()); err != nil {
		return nil, err
	}
	if r.Source, err = sourceOf(in.NewSource); err != nil { //nolint:protogetter // nil differs from ""
		return nil, err
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.Int("bill.tests", len(r.Tests)))
	switch {
	case in.GetIsValidate():
		return s.validate(ctx, r)
	case in.GetIsCalculate():
		return s.calculate(ctx, r)
	default:
		r.Key = idempotency.KeyFrom(ctx)
		return s.execute(ctx, r)
	}
}

func (s *Server) validate(ctx context.Context, r split.Request) (*billsplitv1.SplitBillResponse, error) {
	failures, warnings, err := s.d.Splitter.Validate(ctx, r)
	if err != nil {
		return nil, err
	}
	return answer(saidValid, failures, warnings), nil
}

func (s *Server) calculate(ctx context.Context, r split.Request) (*billsplitv1.SplitBillResponse, error) {
	p, err := s.d.Splitter.Calculate(ctx, r)
	if err != nil {
		return nil, err
	}
	out := answer(saidCalculate, p.Failures, p.Warnings)
	if p.Division != nil {
		out.Bill, out.SplitBill = amountsOf(p.Division.Parent), amountsOf(p.Division.New)
	}
	return out, nil
}

// execute executes the split. If a check fails, it responds 400 with the documented body, which differs from that of an
// error.
func (s *Server) execute(ctx context.Context, r split.Request) (*billsplitv1.SplitBillResponse, error) {
	result, err := s.d.Splitter.Execute(ctx, r)
	if refused := (*split.Refused)(nil); errors.As(err, &refused) {
		return answer(saidFailed, refused.Failures, nil), withStatus(ctx, http.StatusBadRequest)
	}
	if err != nil {
		return nil, err
	}
	out := answer(saidSplit, nil, result.Warnings)
	out.Data = &billsplitv1.SplitBillData{OriginalBill: summaryOf(result.Original), NewBill: summaryOf(result.New)}
	return out, nil
}

// withStatus makes the gateway respond with another status than 200.
func withStatus(ctx context.Context, status int) error {
	return grpc.SetHeader(ctx, metadata.Pairs(rpcerr.StatusMetadata, strconv.Itoa(status)))
}
