// Package restore tests commands of the operations handbook, word by word: it backs up a platform that runs, loses all
// its data, restores it and counts; and it moves a laboratory from one platform to another.
package restore
