// Package counting computes manual differential counts, so that every client shows the same numbers. All functions are
// pure.
package counting
