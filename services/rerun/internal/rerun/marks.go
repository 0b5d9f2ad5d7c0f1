package rerun

import (
	"encoding/json"

	"github.com/labplatform/labplatform/pkg/lab/activitylog"
)

// mark is the part of a log entry's meta that makes it a commit marker.
type mark struct {
	RerunID     string `json:"rerun_id"`
	RerunNumber int    `json:"rerun_number"`
	Requested   []int  `json:"requested_parameters"`
	Fingerprint string `json:"fingerprint"`
}

// Note adds an entry of the activity log, in the order of their ids. Entries of other writers are no markers.
func (l *Ledger) Note(category activitylog.Category, meta []byte) {
	var m mark
	if json.Unmarshal(meta, &m) != nil || m.RerunID == "" {
		return
	}
	found := Mark{RerunID: m.RerunID, Number: m.RerunNumber, Requested: m.Requested, Fingerprint: m.Fingerprint}
	switch {
	case category == activitylog.RerunRequested:
		l.Requests = append(l.Requests, found)
	case category == activitylog.RerunValuesReceived && m.Fingerprint != "":
		l.Repetitions = append(l.Repetitions, found)
	}
}

// ArchivedIn returns the ids of the documents that an archiving entry of the log holds.
func ArchivedIn(meta []byte) []string {
	var s Snapshot
	if json.Unmarshal(meta, &s) != nil {
		return nil
	}
	records, values := s.IDs()
	return append(records, values...)
}
