package rerun

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
)

// RememberFor is how long a message of an instrument on its own is recognised as a repetition.
const RememberFor = 30 * 24 * time.Hour

// Ledger holds what the activity log knows of the report's present rerun: everything since the last confirm or abort.
// It is part of the database that holds the row lock, so it is exact.
type Ledger struct {
	Requests    []Mark // committed requests, oldest first
	Repetitions []Mark // committed repetitions by instruments on their own, oldest first
	Messages    []Mark // committed messages for requests

	// Received holds the fingerprints of the repetitions within RememberFor, those of earlier reruns included.
	Received map[string]bool
}

// Mark proves that the transaction of a record or message was committed.
type Mark struct {
	RerunID     string
	Number      int
	Requested   []int  // of a request
	Fingerprint string // of a repetition or a message
}

// mark is the part of a log entry's meta that makes it a commit marker.
type mark struct {
	RerunID     string `json:"rerun_id"`
	RerunNumber int    `json:"rerun_number"`
	Requested   []int  `json:"requested_parameters"`
	Fingerprint string `json:"fingerprint"` // of a repetition
	Message     string `json:"message"`     // fingerprint of a message for a request
}

// Note adds an entry of the activity log. Entries come in the order of their ids; those of other writers are ignored.
// recent is true within RememberFor. A confirm or an abort begins a new rerun.
func (l *Ledger) Note(category activitylog.Category, meta []byte, recent bool) {
	if category == activitylog.RerunValuesConfirmed || category == activitylog.RerunCancelled {
		*l = Ledger{Received: l.Received}
		return
	}
	var m mark
	if json.Unmarshal(meta, &m) != nil || m.RerunID == "" {
		return
	}
	found := Mark{m.RerunID, m.RerunNumber, m.Requested, m.Fingerprint + m.Message}
	switch {
	case category == activitylog.RerunRequested:
		l.Requests = append(l.Requests, found)
	case m.Fingerprint != "":
		l.Repetitions = append(l.Repetitions, found)
		if recent && l.Received == nil {
			l.Received = map[string]bool{}
		}
		if recent {
			l.Received[m.Fingerprint] = true
		}
	case m.Message != "":
		l.Messages = append(l.Messages, found)
	}
}

// Request returns the committed request of a number.
func (l Ledger) Request(number int) (Mark, bool) {
	i := slices.IndexFunc(l.Requests, func(m Mark) bool { return m.Number == number })
	if i < 0 {
		return Mark{}, false
	}
	return l.Requests[i], true
}

// Latest returns the request that decides whether the rerun is fulfilled: the one with the highest number.
func (l Ledger) Latest() (Mark, bool) {
	if len(l.Requests) == 0 {
		return Mark{}, false
	}
	return slices.MaxFunc(l.Requests, func(a, b Mark) int { return a.Number - b.Number }), true
}

// Answered reports whether a message for a request was received before.
func (l Ledger) Answered(rerunID, fingerprint string) bool {
	return slices.ContainsFunc(l.Messages,
		func(m Mark) bool { return m.RerunID == rerunID && m.Fingerprint == fingerprint })
}

// Committed reports whether a record belongs to the present rerun.
func (l Ledger) Committed(id string) bool {
	marks := func(m Mark) bool { return m.RerunID == id }
	return slices.ContainsFunc(l.Requests, marks) || slices.ContainsFunc(l.Repetitions, marks)
}

// Highest returns the largest number, 0 without any.
func (l Ledger) Highest() int {
	highest := 0
	for _, m := range slices.Concat(l.Requests, l.Repetitions) {
		highest = max(highest, m.Number)
	}
	return highest
}

// Size returns the number of reruns.
func (l Ledger) Size() int { return len(l.Requests) + len(l.Repetitions) }

// ArchivedIn returns the ids of the documents in an archiving entry of the log.
func ArchivedIn(meta []byte) []string {
	var s Snapshot
	if json.Unmarshal(meta, &s) != nil {
		return nil
	}
	records, values := s.IDs()
	return append(records, values...)
}
