// Package family shows the bills that were split from one bill, and undoes a split.
//
// A split is undone only while both bills are as the split left them, because the original's amounts are then known
// exactly. The new bill is not deleted, because its number was given out. It is cancelled and empty, so that the sums
// of the family do not change. Of several splits of one bill, the last one has to be undone first.
package family
