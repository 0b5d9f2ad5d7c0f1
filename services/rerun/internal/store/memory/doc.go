// Package memory holds the stores of the rerun service in memory, for the tests of use cases: it passes the suite of
// store/storetest that the real engines pass, so what it says about a rule is what they say.
//
// A locked report works on a copy that replaces the original at the commit, so an error leaves nothing behind.
package memory
