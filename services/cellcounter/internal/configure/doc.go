// Package configure reads and changes the mappings of a test: which key counts which cell into which parameter.
//
// A change is one transaction of three steps: load the facts, decide, apply the decision. Loading locks the scope (a
// test's mappings of one owner), so writes to a scope run one after the other. Write.Decide, DecideRemove and
// DecideReset are pure functions. A repeated write changes nothing further.
package configure
