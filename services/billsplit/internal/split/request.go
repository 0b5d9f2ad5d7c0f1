package split

import (
	"encoding/json"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Request is a wish to move tests of a bill to a new one.
type Request struct {
	Lab    authn.LabScope
	BillID int64
	Tests  []int64 // unique, at least one
	Source bill.Destination
	Actor  authn.Actor
	Key    string // of a request that may be repeated; "" when it may not
}

// operation is what an idempotency key is for.
const operation = "lab.billsplit.v1.BillSplitService/SplitBill"

// once is the request as a key remembers it: the order of the tests decides nothing.
func (r Request) once() (idempotency.Request, error) {
	body, err := json.Marshal(struct {
		Bill   int64
		Tests  []int64
		Source bill.Destination
	}{r.BillID, slices.Sorted(slices.Values(r.Tests)), r.Source})
	return idempotency.Request{Actor: r.Actor, Key: r.Key, Operation: operation, Body: body}, err
}

// Projection is what a calculation tells.
type Projection struct {
	Failures []bill.Failure
	Warnings []bill.Failure
	Division *bill.Division // nil when there is no bill, or none of the tests is on it
}

// Result is what an execution did.
type Result struct {
	Original Summary
	New      Summary
	Warnings []bill.Failure
}

// Summary names a bill.
type Summary struct {
	ID        int64
	LabBillID int64
	Total     bill.Paise
}

// Refused is the error of an execution that failed its checks; nothing was written.
type Refused struct{ Failures []bill.Failure }

var _ error = (*Refused)(nil)

func (r *Refused) Error() string { return "bill split validation failed" }
