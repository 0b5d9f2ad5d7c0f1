package split

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Store keeps bills.
type Store interface {
	// View returns the facts of a request as one unchanging picture, without locks and without the new bill's numbers.
	View(ctx context.Context, r Request) (Facts, error)
	// Split loads the facts of a request under locks, calls decide, applies the decision and returns its answer, all or
	// nothing. When once was answered before, it returns that answer and does nothing else. decide may be called more
	// than once.
	Split(ctx context.Context, r Request, once idempotency.Request,
		decide func(Facts) (Decision, error)) (answer []byte, replayed bool, err error)
}

// Facts is everything that a split depends on.
type Facts struct {
	Enabled      bool              // the laboratory's own switch
	Bill         *bill.Bill        // nil: the laboratory has none with this id; all that follows is empty
	Rows         []bill.Row        // all tests of the bill, whichever laboratory they claim to be of
	Around       bill.Surroundings // of the bill and of the tests that would move
	SmartReports []int64           // ids of active attachments that a split makes out of date

	// The next bill number of the laboratory, which no other transaction takes, and the order numbers of the bill's
	// family. Only an execution has them.
	NextNumber   int64
	OrderNumbers []string
}

// Draft is what a new bill does not take over.
type Draft struct {
	LabBillID   int64
	OrderNumber string
	Source      bill.Destination
	BilledAt    time.Time
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
	BilledAt        int64       // when the old bill was made, epoch milliseconds; 0 in records of version 1.0
	NewPayer        bill.Payer  // of the new bill
	By              authn.Actor // without the name
	At              int64       // epoch milliseconds
}
