// Package progress owns what a job remembers between its attempts about a message that is sent in several parts
// (push tokens, WhatsApp documents), so that a retry sends only what is left. A handler returns it with its result; the
// worker stores it with the job, also when the job failed for good: someone may revive it.
package progress

import (
	"bytes"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// The fates of a part.
const (
	Left    byte = '.' // not sent yet
	Sent    byte = 's'
	Dead    byte = 'd' // the recipient does not exist any more
	Refused byte = 'r' // the provider will never take it
)

// Read returns the fates of n parts, in the form in which they are stored; all are Left when nothing fitting is
// remembered.
func Read(b *job.Body, n int) []byte {
	marks := bytes.Repeat([]byte{Left}, n)
	if len(b.Progress) != n {
		return marks
	}
	for i, mark := range b.Progress {
		switch mark {
		case Sent, Dead, Refused:
			marks[i] = mark
		}
	}
	return marks
}

// Count counts the parts with a fate.
func Count(marks []byte, fate byte) int { return bytes.Count(marks, []byte{fate}) }
