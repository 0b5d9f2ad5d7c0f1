// Package restore runs commands of the operations handbook exactly as they are printed: it backs up a running platform,
// deletes all its data, restores it and compares counts; and it moves a laboratory from one platform to another.
package restore
