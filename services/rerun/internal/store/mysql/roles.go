package mysql

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/closing"
	"github.com/labplatform/labplatform/services/rerun/internal/receive"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/sweep"
)

// Requests is the store as request.Reports: a locked report shows each use case the part that it may touch.
type Requests struct{ *Store }

var _ request.Reports = (*Requests)(nil)

func (s Requests) Lock(
	ctx context.Context, scope authn.LabScope, reportID int64, work func(request.Locked) error,
) error {
	return s.lock(ctx, scope, reportID, func(l *locked) error { return work(l) })
}

// Receipts is the store as receive.Reports.
type Receipts struct{ *Store }

var _ receive.Reports = (*Receipts)(nil)

func (s Receipts) Lock(
	ctx context.Context, scope authn.LabScope, reportID int64, work func(receive.Locked) error,
) error {
	return s.lock(ctx, scope, reportID, func(l *locked) error { return work(l) })
}

// Closings is the store as closing.Reports.
type Closings struct{ *Store }

var _ closing.Reports = (*Closings)(nil)

func (s Closings) Lock(
	ctx context.Context, scope authn.LabScope, reportID int64, work func(closing.Locked) error,
) error {
	return s.lock(ctx, scope, reportID, func(l *locked) error { return work(l) })
}

// Sweeps is the store as sweep.Reports.
type Sweeps struct{ *Store }

var _ sweep.Reports = (*Sweeps)(nil)

func (s Sweeps) Lock(ctx context.Context, scope authn.LabScope, reportID int64, work func(sweep.Locked) error) error {
	return s.lock(ctx, scope, reportID, func(l *locked) error { return work(l) })
}
