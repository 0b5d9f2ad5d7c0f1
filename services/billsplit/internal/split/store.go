package split

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Store keeps bills.
type Store interface {
	// View runs read on one unchanging picture of the laboratory's bills.
	View(ctx context.Context, lab authn.LabScope, read func(Facts) error) error
	// Once runs work in one transaction, commits it and returns work's answer, unless the request's key was answered
	// before: then it returns that answer. Work may run more than once.
	Once(ctx context.Context, lab authn.LabScope, request idempotency.Request,
		work func(Locked) ([]byte, error)) (answer []byte, replayed bool, err error)
}

// Facts is what the checks look at.
type Facts interface {
	// Bill returns the laboratory's bill, nil when there is none. Within Once it is locked until the end.
	Bill(ctx context.Context, id int64) (*bill.Bill, error)
	// Rows returns all tests of the bill that was read last, whichever laboratory they claim to be of. Within Once
	// they are locked until the end.
	Rows(ctx context.Context, billID int64) ([]bill.Row, error)
	// Around returns what else there is about the bill, and about some of its tests.
	Around(ctx context.Context, billID int64, tests []int64) (bill.Surroundings, error)
	// SplittingEnabled tells the laboratory's own switch.
	SplittingEnabled(ctx context.Context) (bool, error)
}

// Locked is a transaction. What it writes is there when Once returns, all of it or nothing.
type Locked interface {
	Facts
	// NextBillNumber takes the laboratory's next bill number. No other transaction of the laboratory takes one before
	// this one ends.
	NextBillNumber(ctx context.Context) (int64, error)
	// OrderNumbers returns the laboratory's order numbers that begin with prefix.
	OrderNumbers(ctx context.Context, prefix string) ([]string, error)
	// Create adds a bill like another but for what the draft says, and returns its id. No state is taken over; its
	// version is 0.
	Create(ctx context.Context, like int64, d Draft) (int64, error)
	// SetAmounts changes the amounts of a bill and raises its version by one.
	SetAmounts(ctx context.Context, billID int64, a bill.Amounts) error
	// Move gives tests and their reports to another bill. All of them must be on the bill from.
	Move(ctx context.Context, from, to int64, tests []int64) error
	// RetireSmartReports deactivates the bill's reports of all results, which are out of date, and returns their ids.
	RetireSmartReports(ctx context.Context, billID int64) ([]int64, error)
	// Record keeps what was split from what.
	Record(ctx context.Context, r Record) error
	// Log appends to the activity log.
	Log(ctx context.Context, e activitylog.Entry) error
}

// Draft is what a new bill does not take over.
type Draft struct {
	LabBillID   int64
	OrderNumber string
	Source      bill.Destination
	Amounts     bill.Amounts
}

// Record is the proof of one split; with it the split can be undone.
type Record struct {
	ParentID, NewID int64
	Moved           []int64
	Rows            []bill.Row // what moved, as it was
	ParentVersion   int64      // of the old bill after the split
	Before          bill.Amounts
	AfterParent     bill.Amounts
	AfterNew        bill.Amounts
	SmartReports    []int64     // attachments that were deactivated
	By              authn.Actor // without the name
	At              int64       // epoch milliseconds
}
