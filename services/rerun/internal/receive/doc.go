// Package receive stores the values that an instrument reports for a repeated sample: values for a request, identified
// by its rerun number, and values of a repetition on its own (-1).
//
// Decide does no I/O. Everything happens while the report's row is locked: the facts are read, the documents are
// written, and the transaction commits the flag, the log entry and the message to the callout service. Existing
// documents are read only if the database has a record of some or lacks the request, if the message has only a part of
// the requested values, or if the document store rejects an insert. A message that is delivered again after a crash
// completes what the first one began.
package receive
