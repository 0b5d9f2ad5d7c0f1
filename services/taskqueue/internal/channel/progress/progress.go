// Package progress owns what a job remembers between its attempts about a message that is sent in several parts
// (push tokens, WhatsApp documents), so that a retry sends only what is left. It is kept in the task's own data,
// which the worker stores again with every retry.
package progress

import "encoding/json"

// Mark is the fate of one part.
type Mark byte

// The fates.
const (
	Left    Mark = '.' // not sent yet
	Sent    Mark = 's'
	Dead    Mark = 'd' // the recipient does not exist any more
	Refused Mark = 'r' // the provider will never take it
)

const member = "_parts"

// Read returns the marks of n parts; all are Left when nothing fitting is remembered.
func Read(data []byte, n int) []Mark {
	var d struct {
		Parts string `json:"_parts"`
	}
	marks := make([]Mark, n)
	known := json.Unmarshal(data, &d) == nil && len(d.Parts) == n
	for i := range marks {
		marks[i] = Left
		if known {
			marks[i] = valid(d.Parts[i])
		}
	}
	return marks
}

func valid(c byte) Mark {
	switch m := Mark(c); m {
	case Sent, Dead, Refused:
		return m
	}
	return Left
}

// Write returns data with the marks; the old text is not changed. Data that is no JSON object stays as it is.
func Write(data []byte, marks []Mark) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		return data
	}
	text := make([]byte, len(marks))
	for i, m := range marks {
		text[i] = byte(m)
	}
	members[member] = json.RawMessage(`"` + string(text) + `"`)
	next, err := json.Marshal(members)
	if err != nil {
		return data
	}
	return next
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
