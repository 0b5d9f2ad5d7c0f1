// Package mapping is the domain of the cell counter: which key counts which cell into which parameter of a report.
//
// A scope is one test's mappings for one laboratory, or the defaults of all laboratories. In a scope a key and a
// parameter occur once each. NewPlan turns the elements of a write into rows, or returns the reason why it cannot.
package mapping
