package split

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Store reads and splits bills.
type Store interface {
	// View returns the facts of a request from one snapshot, without locks and without the numbers of a new bill.
	View(ctx context.Context, r Request) (Facts, error)
	// Split loads the facts of a request under locks, calls decide, applies the decision and returns its response, all in
	// one transaction. If once was processed before, it returns the stored response and changes nothing. decide may be
	// called more than once.
	Split(ctx context.Context, r Request, once idempotency.Request,
		decide func(Facts) (Decision, error)) (answer []byte, replayed bool, err error)
}

// Facts holds all inputs of a split.
type Facts struct {
	Enabled      bool              // the laboratory's own switch
	Bill         *bill.Bill        // nil if the laboratory has no such bill; the following fields are then empty
	Rows         []bill.Row        // all tests of the bill, including tests whose row names another laboratory
	Around       bill.Surroundings // surroundings of the bill and of the tests that would move
	SmartReports []int64           // ids of active attachments that a split makes outdated

	// Results is a digest of the bill's results, which shows later whether one was changed or removed. It is set in an
	// execution, if there are SmartReports.
	Results string
	// NextNumber is the laboratory's next bill number, which no other transaction can take. OrderNumbers are those of
	// the bill's family. Both are set in an execution only.
	NextNumber   int64
	OrderNumbers []string
}

// Draft holds the fields of a new bill that are not copied from the original.
type Draft struct {
	LabBillID   int64
	OrderNumber string
	Source      bill.Destination
	BilledAt    time.Time
	Amounts     bill.Amounts
}

// Record documents one split, so that the split can be undone.
type Record struct {
	ParentID, NewID int64
	Moved           []int64
	Rows            []bill.Row // moved tests, as they were before the split
	ParentVersion   int64      // version of the old bill after the split
	Before          bill.Amounts
	AfterParent     bill.Amounts
	AfterNew        bill.Amounts
	SmartReports    []int64     // attachments that were deactivated
	Results         string      // digest of the results they show; empty without reports, or in earlier versions
	BilledAt        int64       // creation time of the old bill, epoch milliseconds; 0 in records of version 1.0
	NewPayer        bill.Payer  // payer of the new bill
	By              authn.Actor // without a name
	At              int64       // epoch milliseconds
}
