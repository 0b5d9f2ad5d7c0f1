// Package configure reads and changes the mappings of a test: which key counts which cell into which parameter.
//
// A change is one transaction of three steps: load the facts, decide, apply the decision. Loading takes the lock of the
// scope (a test's mappings of one owner), so writers of a scope follow each other. Deciding is pure and stands in
// Write.Decide, DecideRemove and DecideReset. A repeated write changes nothing further.
package configure
