// Package storetest opens MySQL, the document store and Redis with the rows that the tests of this service use, and
// provides the use cases over them. Only tests import it.
//
// Report and OtherReport belong to laboratory 12, ForeignReport to laboratory 13. Report is a profile: its own test has
// the parameters 1 (haemoglobin), 3 (white cells) and 5 (disabled), its child has 8 (ESR).
package storetest
