// Package configure reads and writes the mappings of a test.
//
// A write holds the lock of its scope, so writers of one scope follow each other; it is one transaction, all or
// nothing. A repeated write changes nothing further.
package configure
