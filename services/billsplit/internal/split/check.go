package split

import (
	"context"

	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// assessment is a request seen against the facts.
type assessment struct {
	bill      *bill.Bill // nil: there is none
	selection bill.Selection
	division  bill.Division
	failures  []bill.Failure // of every mode
	execution []bill.Failure // of an execution alone
	warnings  []bill.Failure
}

// assess reads the facts in the order of the locks and makes every check.
func (s *Splitter) assess(ctx context.Context, f Facts, r Request) (assessment, error) {
	b, err := f.Bill(ctx, r.BillID)
	if err != nil {
		return assessment{}, err
	}
	if b == nil {
		return assessment{failures: []bill.Failure{bill.BillNotFound}}, nil
	}
	rows, err := f.Rows(ctx, b.ID)
	if err != nil {
		return assessment{}, err
	}
	a := assessment{bill: b, selection: bill.Select(rows, r.Tests)}
	around, err := f.Around(ctx, b.ID, bill.IDs(a.selection.Moved))
	if err != nil {
		return assessment{}, err
	}
	a.failures = append(bill.CheckBill(*b, around), bill.CheckTests(a.selection, r.Lab.LabID())...)
	a.execution = bill.CheckExecution(*b, a.selection, around)
	if len(a.selection.Moved) > 0 {
		a.division = bill.Divide(b.Amounts, a.selection.Moved, s.d.VATPercent)
		a.warnings = bill.Warnings(*b, rows, a.division)
	}
	return a, nil
}

// allWarnings are those of a mode that writes nothing: what an execution would refuse comes first.
func (a assessment) allWarnings() []bill.Failure {
	return append(append([]bill.Failure{}, a.execution...), a.warnings...)
}
