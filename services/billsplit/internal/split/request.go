package split

import (
	"encoding/json"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Request is a request to move tests of a bill to a new bill.
type Request struct {
	Lab    authn.LabScope
	BillID int64
	Tests  []int64 // not empty, without duplicates
	Source bill.Destination
	Actor  authn.Actor
	Key    string // idempotency key; "" if the request must not be repeated
}

// operation is the operation to which idempotency keys belong.
const operation = "lab.billsplit.v1.BillSplitService/SplitBill"

// once returns the request as its idempotency key identifies it. The order of the tests does not matter.
func (r Request) once() (idempotency.Request, error) {
	body, err := json.Marshal(struct {
		Bill   int64
		Tests  []int64
		Source bill.Destination
	}{r.BillID, slices.Sorted(slices.Values(r.Tests)), r.Source})
	return idempotency.Request{Actor: r.Actor, Key: r.Key, Operation: operation, Body: body}, err
}

// Projection is the result of a calculation.
type Projection struct {
	Failures []bill.Failure
	Warnings []bill.Failure
	Division *bill.Division // nil if there is no such bill or none of the tests is on it
}

// Result is the result of an execution.
type Result struct {
	Original Summary
	New      Summary
	Warnings []bill.Failure
}

// Summary identifies a bill, with its total.
type Summary struct {
	ID        int64
	LabBillID int64
	Total     bill.Paise
}

// Refused is returned by an execution whose checks failed. Nothing was written.
type Refused struct{ Failures []bill.Failure }

var _ error = (*Refused)(nil)

func (r *Refused) Error() string { return "bill split validation failed" }
