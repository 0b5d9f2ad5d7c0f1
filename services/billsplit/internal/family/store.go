package family

import (
	"context"

	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Store undoes splits.
type Store interface {
	// Merge loads the facts of a request under locks, calls decide and applies the decision, as the Split of split.Store
	// does.
	Merge(ctx context.Context, r Request, once idempotency.Request,
		decide func(Facts) (Decision, error)) (answer []byte, replayed bool, err error)
}

// Facts is everything that the undoing of a split depends on.
type Facts struct {
	Record *Record    // the split that made the named bill; nil: none did
	New    *bill.Bill // the named bill; nil: the laboratory has none with this id
	Parent *bill.Bill // nil without a Record, or when it is not the laboratory's any more
	Rows   []bill.Row // of the named bill
	// Active reports that are made from results: attachments of either bill.
	ParentReports, NewReports []int64
	// Splits of either bill, first to last; undone ones too.
	OfParent, OfNew []Record
	// What there is about either bill, and about the tests of the named one.
	AroundParent, AroundNew bill.Surroundings
}
