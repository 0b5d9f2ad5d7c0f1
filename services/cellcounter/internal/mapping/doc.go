// Package mapping contains the rules of the cell counter's mappings: which key counts which cell into which parameter
// of a report.
//
// A scope is the mappings of one test for one laboratory, or the defaults of all laboratories. Within a scope, a key
// and a parameter occur once each. NewPlan converts the elements of a write to rows, or returns an error.
package mapping
