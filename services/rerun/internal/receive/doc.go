// Package receive owns the values that an instrument reports for a sample that is tested again: those that were
// asked for (a rerun number), and those of a repetition that the instrument made on its own (-1).
//
// Everything happens while the report's row is held. Values are inserted under a unique index without looking
// first; only when the store refuses one of them, because it is there already, the stored values are read and
// compared. The flag becomes 4 when every requested index is stored, whichever request notices it: a message that is
// delivered again after a crash completes what the first one began.
package receive
