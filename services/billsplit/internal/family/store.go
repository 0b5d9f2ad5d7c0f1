package family

import (
	"context"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Store undoes splits.
type Store interface {
	// Merge loads the facts of a request under locks, calls decide and applies the decision, with the guarantees of
	// split.Store.Split.
	Merge(ctx context.Context, r Request, once idempotency.Request,
		decide func(Facts) (Decision, error)) (answer []byte, replayed bool, err error)
}

// Facts holds all inputs of the decision to undo a split.
type Facts struct {
	Record *Record    // split that created the bill; nil if none did
	New    *bill.Bill // the bill in the request; nil if the laboratory has no such bill
	Parent *bill.Bill // nil without a Record, or if the bill no longer belongs to the laboratory
	Rows   []bill.Row // tests of New
	// ids of active reports that were created from the results of either bill; they are attachments
	ParentReports, NewReports []int64
	// ResultsChanged is set if a result of either bill was written or removed, or a report dismissed or given to another
	// patient, since the split.
	ResultsChanged bool
	// Splits of either bill in their order, including undone ones.
	OfParent, OfNew []Record
	// Surroundings of the bills, and of the tests of New.
	AroundParent, AroundNew bill.Surroundings
}
