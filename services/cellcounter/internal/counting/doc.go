// Package counting computes manual differential counts, so that all clients show the same numbers. Its functions do no
// I/O.
package counting
