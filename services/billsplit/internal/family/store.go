package family

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Store undoes splits.
type Store interface {
	// OnceMerge is split.Store's Once for the way back.
	OnceMerge(ctx context.Context, lab authn.LabScope, request idempotency.Request,
		work func(Locked) ([]byte, error)) (answer []byte, replayed bool, err error)
}

// Locked is a transaction. What it writes is there when OnceMerge returns, all of it or nothing.
type Locked interface {
	// Split returns the split that made the bill, nil when none did.
	Split(ctx context.Context, newBillID int64) (*Record, error)
	// SplitsOf returns the splits of the bill, first to last; those that were undone too.
	SplitsOf(ctx context.Context, billID int64) ([]Record, error)
	// Bill, Rows and Around are those of split.Facts; they lock.
	Bill(ctx context.Context, id int64) (*bill.Bill, error)
	Rows(ctx context.Context, billID int64) ([]bill.Row, error)
	Around(ctx context.Context, billID int64, tests []int64) (bill.Surroundings, error)
	// SetAmounts and Move are those of split.Locked.
	SetAmounts(ctx context.Context, billID int64, a bill.Amounts) error
	Move(ctx context.Context, from, to int64, tests []int64) error
	// Cancel marks the bill as cancelled.
	Cancel(ctx context.Context, billID int64) error
	// RestoreSmartReports activates attachments of the bill again.
	RestoreSmartReports(ctx context.Context, billID int64, ids []int64) error
	// Undone notes that the split which made the bill was undone.
	Undone(ctx context.Context, newBillID int64, by authn.Actor, at int64) error
	// Log appends to the activity log.
	Log(ctx context.Context, e activitylog.Entry) error
}
