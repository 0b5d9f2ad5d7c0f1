// Package restore tests the operations handbook's commands for backup and restore, word by word: it backs up a platform
// that runs, loses all its data, restores it and counts.
package restore
