// Package engines owns how the stack runs what it did not write: MariaDB, Redis and the document store, each a
// private process with its data in one directory, and how they are installed when they are missing.
package engines
