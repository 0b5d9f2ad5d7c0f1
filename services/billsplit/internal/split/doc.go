// Package split validates, projects and executes the splitting of a bill.
//
// All three make the same checks on the same facts, and none of the checks reads anything. An execution loads the facts
// while it locks the bill's row and its tests', so of two that want the same tests one succeeds and the other finds
// them gone. It is one transaction: a crash at any line leaves the bill whole or split. Locks are taken in this order:
//
//	key of the request, bill, its tests, the laboratory's bill number
package split
