package rerun

import "time"

// Snapshot is the meta of an archiving log entry. After the documents are deleted, it is the only record of the
// instrument's values.
type Snapshot struct {
	RerunID     string           `json:"rerun_id"`
	RerunNumber int              `json:"rerun_number"`
	Old         State            `json:"old"`
	New         State            `json:"new"`
	RerunValues []ArchivedValue  `json:"rerun_values"`
	Reruns      []ArchivedRecord `json:"reruns"`
}

// State is the state of the report before or after the change.
type State struct {
	Flag   Flag             `json:"sampleRedrawFlag"`
	Signed *bool            `json:"signed,omitempty"`
	Values []ArchivedResult `json:"values,omitempty"`
}

// ArchivedResult is one row of a report's values.
type ArchivedResult struct {
	ProfileTestID int64  `json:"profileTestId"`
	Index         int    `json:"index"`
	Order         int    `json:"order"`
	ParameterName string `json:"parameter_name"`
	Value         string `json:"value"`
	Highlight     int    `json:"highlight"`
	Automated     int    `json:"automatedValue"`
}

// ArchivedValue is a value of an instrument with its previous values.
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

// Archive returns a snapshot of records and values. Its id and number are those of the record with the highest number.
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

// ArchiveResults converts rows of a report for a snapshot.
func ArchiveResults(results []Result) []ArchivedResult {
	archived := make([]ArchivedResult, 0, len(results))
	for _, r := range results {
		archived = append(archived, ArchivedResult{ProfileTestID: r.ProfileTestID, Index: r.Index, Order: r.Order,
			ParameterName: r.ParameterName, Value: r.Value, Highlight: r.Highlight, Automated: r.Automated})
	}
	return archived
}

// IDs returns the ids of the records and values in a snapshot.
func (s Snapshot) IDs() (records, values []string) {
	for _, r := range s.Reruns {
		records = append(records, r.ID)
	}
	for _, v := range s.RerunValues {
		values = append(values, v.ID)
	}
	return records, values
}
