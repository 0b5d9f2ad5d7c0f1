// Package receive stores the values that an instrument reports for a repeated sample: those of a request (a rerun
// number), and those of a repetition on its own (-1).
//
// Decide is pure. Everything happens while the report's row is locked: the facts are read, the documents are written,
// and the transaction commits the flag, the log entry and the message to the callout service. Documents that exist
// already are read only if the database knows of some, or if the document store refuses an insert. A message that is
// delivered again after a crash completes what the first one began.
package receive
