// Package split validates, projects and executes the splitting of a bill.
//
// All three make the same checks on the same facts. An execution makes them while it holds the bill's row and its
// tests', so of two that want the same tests one wins and the other finds them gone. It is one transaction: a crash at
// any line leaves the bill whole or split, never between. Steps of an execution, in the order of their locks:
//
//	key of the request, bill, its tests, the laboratory's bill number
package split
