package split

import (
	"slices"

	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Rules are the settings of a deployment for splits.
type Rules struct {
	VATPercent bill.PercentRule
	// RequireLabSwitch rejects requests of laboratories whose own switch is off.
	RequireLabSwitch bool
}

// assessment is the result of all checks of a request.
type assessment struct {
	bill      *bill.Bill // nil if there is no such bill
	selection bill.Selection
	division  bill.Division
	failures  []bill.Failure // failures in every mode
	execution []bill.Failure // failures only in an execution
	notes     []bill.Failure
}

// assess runs all checks. The error is ErrSwitchedOff.
func (rules Rules) assess(f Facts, r Request) (assessment, error) {
	if rules.RequireLabSwitch && !f.Enabled {
		return assessment{}, ErrSwitchedOff
	}
	if f.Bill == nil {
		return assessment{failures: []bill.Failure{bill.BillNotFound}}, nil
	}
	a := assessment{bill: f.Bill, selection: bill.Select(f.Rows, r.Tests)}
	a.failures = append(bill.CheckBill(*f.Bill, f.Around), bill.CheckTests(a.selection, r.Lab.LabID())...)
	a.execution = bill.CheckExecution(*f.Bill, a.selection, f.Around)
	if len(a.selection.Moved) > 0 {
		a.division = bill.Divide(f.Bill.Amounts, f.Rows, a.selection.Moved, rules.VATPercent)
		a.notes = append(a.division.Notes, bill.Notes(f.Rows, a.selection, f.Around.Reports)...)
	}
	return a, nil
}

// warnings returns the warnings of a mode that writes nothing. They begin with the failures of an execution.
func (a assessment) warnings() []bill.Failure {
	blocking := slices.Clone(a.execution)
	for i := range blocking {
		blocking[i].Blocking = true
	}
	return append(blocking, a.notes...)
}
