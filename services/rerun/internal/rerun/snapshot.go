package rerun

import "time"

// Snapshot is the meta of an archiving log entry: after the documents are deleted nothing else proves what the
// instrument said.
type Snapshot struct {
	RerunID     string           `json:"rerun_id"`
	RerunNumber int              `json:"rerun_number"`
	Old         State            `json:"old"`
	New         State            `json:"new"`
	RerunValues []ArchivedValue  `json:"rerun_values"`
	Reruns      []ArchivedRecord `json:"reruns"`
}

// State is the report before or after.
type State struct {
	Flag   Flag             `json:"sampleRedrawFlag"`
	Signed *bool            `json:"signed,omitempty"`
	Values []ArchivedResult `json:"values,omitempty"`
}

// ArchivedResult is a row of the report's values.
type ArchivedResult struct {
	ProfileTestID int64  `json:"profileTestId"`
	Index         int    `json:"index"`
	Order         int    `json:"order"`
	ParameterName string `json:"parameter_name"`
	Value         string `json:"value"`
	Highlight     int    `json:"highlight"`
	Automated     int    `json:"automatedValue"`
}

// ArchivedValue is a value of an instrument with all that it said before.
type ArchivedValue struct {
	ID            string            `json:"_id"`
	SampleID      string            `json:"sample_id"`
	Value         string            `json:"value"`
	Order         int               `json:"order"`
	Index         int               `json:"index"`
	RerunType     string            `json:"rerun_type"`
	RerunNumber   int               `json:"rerun_number"`
	ParameterName string            `json:"parameter_name"`
	DeviceID      string            `json:"device_id"`
	DeviceName    string            `json:"device_name"`
	CreatedAt     time.Time         `json:"created_at"`
	History       []ArchivedEarlier `json:"history,omitempty"`
}

// ArchivedEarlier is a value that a later one replaced.
type ArchivedEarlier struct {
	Value      string    `json:"value"`
	DeviceID   string    `json:"device_id"`
	DeviceName string    `json:"device_name"`
	CreatedAt  time.Time `json:"created_at"`
}

// ArchivedRecord is a request, or a repetition of an instrument on its own.
type ArchivedRecord struct {
	ID            string    `json:"_id"`
	Type          Type      `json:"type"`
	RerunNumber   int       `json:"rerun_number"`
	Requested     []int     `json:"requested_parameters"`
	SampleID      string    `json:"sample_id"`
	CreatedBy     int64     `json:"created_by"`
	CreatedByKind string    `json:"created_by_kind,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
}

// Archive returns the snapshot of records and values; the newest record names it.
func Archive(records []Record, values []Value) Snapshot {
	s := Snapshot{RerunValues: []ArchivedValue{}, Reruns: []ArchivedRecord{}}
	for _, r := range records {
		if r.Number >= s.RerunNumber {
			s.RerunID, s.RerunNumber = r.ID, r.Number
		}
		s.Reruns = append(s.Reruns, ArchivedRecord{ID: r.ID, Type: r.Type, RerunNumber: r.Number, Requested: r.Requested,
			SampleID: r.SampleID, CreatedBy: r.CreatedBy, CreatedByKind: r.CreatedByKind, CreatedAt: r.CreatedAt})
	}
	for _, v := range values {
		s.RerunValues = append(s.RerunValues, v.archived())
	}
	return s
}

func (v Value) archived() ArchivedValue {
	a := ArchivedValue{ID: v.ID, SampleID: v.SampleID, Value: v.Value, Order: v.Order, Index: v.Index,
		RerunType:   v.RerunType,
		RerunNumber: v.Number, ParameterName: v.ParameterName, DeviceID: v.DeviceID, DeviceName: v.DeviceName,
		CreatedAt: v.CreatedAt}
	for _, e := range v.History {
		a.History = append(a.History, ArchivedEarlier(e))
	}
	return a
}

// ArchiveResults returns rows of a report for a snapshot.
func ArchiveResults(results []Result) []ArchivedResult {
	archived := make([]ArchivedResult, 0, len(results))
	for _, r := range results {
		archived = append(archived, ArchivedResult{ProfileTestID: r.ProfileTestID, Index: r.Index, Order: r.Order,
			ParameterName: r.ParameterName, Value: r.Value, Highlight: r.Highlight, Automated: r.Automated})
	}
	return archived
}

// IDs returns the documents of a snapshot.
func (s Snapshot) IDs() (records, values []string) {
	for _, r := range s.Reruns {
		records = append(records, r.ID)
	}
	for _, v := range s.RerunValues {
		values = append(values, v.ID)
	}
	return records, values
}
