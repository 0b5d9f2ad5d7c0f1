package rerun

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
)

// RememberFor is how long a message about an instrument's own repetition is recognized when it is sent again.
const RememberFor = 30 * 24 * time.Hour

// Ledger holds what the activity log contains about the report's present rerun: everything since the last confirm or
// abort. The log is in the database that holds the row lock, so the ledger is exact.
type Ledger struct {
	Requests    []Mark // committed requests, oldest first
	Repetitions []Mark // committed repetitions of instruments on their own, oldest first
	Messages    []Mark // committed messages for requests

	// Received holds the fingerprints of the repetitions within RememberFor, including those of earlier reruns.
	Received map[string]bool
}

// Mark proves that the transaction of a record or message was committed.
type Mark struct {
	RerunID     string
	Number      int
	Requested   []int  // for a request
	Fingerprint string // of an instrument's own repetition, or of a message about a request
}

// mark is the part of a log entry's meta that makes it a commit marker.
type mark struct {
	RerunID     string `json:"rerun_id"`
	RerunNumber int    `json:"rerun_number"`
	Requested   []int  `json:"requested_parameters"`
	Fingerprint string `json:"fingerprint"` // of an instrument's own repetition
	Message     string `json:"message"`     // for a message about a request: its fingerprint
}

// Note adds an entry of the activity log. It must be called in the order of the ids. Entries of other writers are
// ignored. recent is set for entries within RememberFor. A confirm or an abort starts a new rerun, so it clears the
// ledger except Received.
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

// Request returns the newest committed request with a number: numbers begin again after another program closed a rerun,
// for example because the sample was drawn again.
func (l Ledger) Request(number int) (Mark, bool) {
	for _, m := range slices.Backward(l.Requests) {
		if m.Number == number {
			return m, true
		}
	}
	return Mark{}, false
}

// Latest returns the newest request, which determines whether the rerun is fulfilled.
func (l Ledger) Latest() (Mark, bool) {
	if len(l.Requests) == 0 {
		return Mark{}, false
	}
	return l.Requests[len(l.Requests)-1], true
}

// Answered reports whether a message for a request was received before.
func (l Ledger) Answered(rerunID, fingerprint string) bool {
	return slices.ContainsFunc(l.Messages,
		func(m Mark) bool { return m.RerunID == rerunID && m.Fingerprint == fingerprint })
}

// Committed reports whether the record with this id was committed in the present rerun.
func (l Ledger) Committed(id string) bool {
	marks := func(m Mark) bool { return m.RerunID == id }
	return slices.ContainsFunc(l.Requests, marks) || slices.ContainsFunc(l.Repetitions, marks)
}

// Highest returns the highest rerun number; 0 without any.
func (l Ledger) Highest() int {
	highest := 0
	for _, m := range slices.Concat(l.Requests, l.Repetitions) {
		highest = max(highest, m.Number)
	}
	return highest
}

// Size returns the number of committed requests and repetitions.
func (l Ledger) Size() int { return len(l.Requests) + len(l.Repetitions) }

// ArchivedIn returns the ids of the documents in the meta of an archiving log entry.
func ArchivedIn(meta []byte) []string {
	var s Snapshot
	if json.Unmarshal(meta, &s) != nil {
		return nil
	}
	records, values := s.IDs()
	return append(records, values...)
}
