// Package progress encodes which parts of a message were sent (push tokens, WhatsApp documents), so that a retry sends
// only the rest. Handlers return the progress with their result. The worker stores it with the job, even if the job
// failed permanently, because an operator may retry it.
package progress

import (
	"bytes"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// States of a part of a message, as stored in the job.
const (
	Left    byte = '.' // not sent yet
	Sent    byte = 's'
	Dead    byte = 'd' // the recipient no longer exists
	Refused byte = 'r' // the provider rejected the part permanently
)

// Read returns the stored states of n parts. All are Left if none are stored or their number differs.
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

// Count returns the number of parts in a state.
func Count(marks []byte, fate byte) int { return bytes.Count(marks, []byte{fate}) }
