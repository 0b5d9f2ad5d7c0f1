// Package split validates, calculates and executes the split of a bill.
//
// All three modes run the same checks on the same facts, and no check reads anything itself. An execution loads the
// facts while it locks the rows of the bill and its tests. Of two concurrent executions with the same tests, one
// succeeds and the other finds that the tests have moved. An execution is one transaction, so a crash leaves the bill
// either unchanged or split. Locks are taken in this order:
//
//	key of the request, bill, its tests, the laboratory's bill number
package split
