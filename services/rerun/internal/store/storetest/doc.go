// Package storetest owns the conformance suite of the document store, and the rows that tests of this service
// begin with. Only tests import it.
package storetest
