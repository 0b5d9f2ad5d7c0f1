// Package family shows the bills that were split from one, and undoes a split.
//
// A split is undone only while both bills are as the split left them: what the original had is then known to the paisa.
// The new bill is not deleted, because its number was given out: it is cancelled and empty, so that the sums of the
// family stay what they were. Of several splits of one bill the last is undone first.
package family
