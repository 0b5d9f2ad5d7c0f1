// Package counting owns the arithmetic of a manual differential count, so that every client shows the same numbers.
// It is pure: counts in, numbers out.
package counting
