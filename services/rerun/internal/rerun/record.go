package rerun

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Type is the origin of a rerun.
type Type string

// Types, as stored and returned.
const (
	Manual     Type = "Manual"
	Auto       Type = "Auto"
	ByAnalyser Type = "Instrument"
)

// ParseType parses the documented names of a requested type, in upper or lower case.
func ParseType(s string) (Type, bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "manual", "manual_rerun":
		return Manual, true
	case "auto", "auto_rerun":
		return Auto, true
	default:
		return "", false
	}
}

// RecordID returns the id of a new record. It begins with the laboratory's id, so that a store can find the document by
// its id alone and still limit it to the laboratory.
func RecordID(labID int64, unique string) string {
	return strconv.FormatInt(labID, 10) + "-" + unique
}

// Record is a SampleRerun document: one request, or one repetition that an instrument made on its own.
type Record struct {
	ID             string
	LabID          int64
	ReportID       int64
	Type           Type
	Number         int   // 1 and above, unique for a report while its rerun is open
	Requested      []int // indices of parameters
	ParameterNames []string
	Active         bool // the latest request of the rerun, even when all its values have arrived
	SampleID       string
	CreatedBy      int64  // -1 is the platform
	CreatedByKind  string // kind of CreatedBy, an authn.ActorKind; empty if another program wrote the record
	UpdatedBy      int64
	CreatedAt      time.Time
	UpdatedAt      time.Time
	// Foreign is set for records of other programs, which have no commit marker.
	Foreign bool
}

// Value is a SampleRerunValues document: one result of a repetition.
type Value struct {
	ID            string
	LabID         int64
	ReportID      int64
	SampleID      string
	Value         string
	Order         int
	Index         int
	RerunType     string
	Number        int
	ParameterName string
	TestID        int64 // as returned by Tests.Of; valid if TestKnown is set
	TestKnown     bool  // false for documents that do not name the test
	DeviceID      string
	DeviceName    string
	CreatedAt     time.Time
	// History holds the previous values of the same number and index, oldest first.
	History []Earlier
	// Foreign is set for values of other programs.
	Foreign bool
}

// Earlier is a previous value that was replaced.
type Earlier struct {
	Value      string
	DeviceID   string
	DeviceName string
	CreatedAt  time.Time
}

// Same reports whether v and o are the same value from the same device. Their number and index must be equal.
func (v Value) Same(o Value) bool { return v.Value == o.Value && v.DeviceID == o.DeviceID }

// Replaces returns v with the id of old, and with old added to the history.
func (v Value) Replaces(old Value) Value {
	v.ID, v.Foreign = old.ID, old.Foreign
	v.History = append(slices.Clone(old.History), Earlier{
		Value: old.Value, DeviceID: old.DeviceID, DeviceName: old.DeviceName, CreatedAt: old.CreatedAt,
	})
	return v
}

// Report is the part of a lab report that reruns use.
type Report struct {
	ID        int64
	LabID     int64
	BillID    int64
	PatientID int64
	Flag      Flag
	// SampleID and ManualSampleID name the sample; both may be empty.
	SampleID       string
	ManualSampleID string
	Signed         bool // the report is signed or approved
	Dismissed      bool
	HasDocument    bool // external editing has saved a Word document
}

// HasSample reports whether id identifies the sample of the report.
func (r Report) HasSample(id string) bool {
	return id != "" && (id == r.SampleID || id == r.ManualSampleID)
}

// IsOfSample reports whether v was measured on the present sample of the report. Values of other programs may name no
// sample.
func (r Report) IsOfSample(v Value) bool { return v.SampleID == "" || r.HasSample(v.SampleID) }

// Result is one row of a report's values.
type Result struct {
	ID            int64 // 0: not stored yet
	ProfileTestID int64 // 0: the report's own test
	Index         int
	Order         int
	ParameterName string
	Value         string
	Highlight     int
	Automated     int
}

// Differs reports whether the report shows a different result if o replaces r.
func (r Result) Differs(o Result) bool {
	return r.Value != o.Value || r.Highlight != o.Highlight || r.Order != o.Order || r.ParameterName != o.ParameterName
}

// HighestNumber returns the highest rerun number of the records; 0 if there are none.
func HighestNumber(records []Record) int {
	highest := 0
	for _, r := range records {
		highest = max(highest, r.Number)
	}
	return highest
}

// Pending returns the requested indices for which values has none with r's rerun number, in the order of the request.
func (r Record) Pending(values []Value) []int {
	pending := []int{}
	for _, index := range r.Requested {
		if !slices.ContainsFunc(values, func(v Value) bool { return v.Number == r.Number && v.Index == index }) {
			pending = append(pending, index)
		}
	}
	return pending
}
