// Package progress owns what a job remembers between its attempts about a message that is sent in several parts
// (push tokens, WhatsApp documents), so that a retry sends only what is left. A handler returns it with its result; the
// worker stores it with the job, also when the job failed for good: somebody may revive it.
package progress

import (
	"encoding/json"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Mark is the fate of one part.
type Mark byte

// The fates.
const (
	Left    Mark = '.' // not sent yet
	Sent    Mark = 's'
	Dead    Mark = 'd' // the recipient does not exist any more
	Refused Mark = 'r' // the provider will never take it
)

// Read returns the marks of n parts; all are Left when nothing fitting is remembered.
func Read(b *job.Body, n int) []Mark {
	stored := b.Progress
	if stored == nil {
		stored = inData(b.Data)
	}
	marks := make([]Mark, n)
	for i := range marks {
		marks[i] = Left
		if len(stored) == n {
			marks[i] = valid(stored[i])
		}
	}
	return marks
}

// inData reads the place where former versions kept the marks, for jobs that wait since then.
func inData(data []byte) []byte {
	var d struct {
		Parts string `json:"_parts"`
	}
	if json.Unmarshal(data, &d) != nil {
		return nil
	}
	return []byte(d.Parts)
}

func valid(c byte) Mark {
	switch m := Mark(c); m {
	case Sent, Dead, Refused:
		return m
	}
	return Left
}

// Encode is the stored form of the marks, for job.Result.
func Encode(marks []Mark) []byte {
	text := make([]byte, len(marks))
	for i, m := range marks {
		text[i] = byte(m)
	}
	return text
}

// Count counts the parts with mark m.
func Count(marks []Mark, m Mark) int {
	n := 0
	for _, one := range marks {
		if one == m {
			n++
		}
	}
	return n
}
