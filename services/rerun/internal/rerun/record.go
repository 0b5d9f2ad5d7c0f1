package rerun

import (
	"slices"
	"strings"
	"time"
)

// Type is how a rerun came to be.
type Type string

// The types, as stored and answered.
const (
	Manual     Type = "Manual"
	Auto       Type = "Auto"
	ByAnalyser Type = "Instrument"
)

// ParseType reads the documented spellings of a requested type, in any case.
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

// Record is a SampleRerun document: one request, or one repetition that an instrument made on its own.
type Record struct {
	ID             string
	LabID          int64
	ReportID       int64
	Type           Type
	Number         int   // 1 and above, unique for a report while its rerun is open
	Requested      []int // parameter indices
	ParameterNames []string
	Active         bool // values are awaited
	SampleID       string
	CreatedBy      int64 // lab user; -1 is the platform
	UpdatedBy      int64
	CreatedAt      time.Time
	UpdatedAt      time.Time
	// Foreign is set for records that this service did not write: they never had a commit marker.
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
	DeviceID      string
	DeviceName    string
	CreatedAt     time.Time
}

// Report is the part of a lab report that this area works on.
type Report struct {
	ID        int64
	LabID     int64
	BillID    int64
	PatientID int64
	Flag      Flag
}

// Parameter is one enabled format of a report or of its profile children.
type Parameter struct {
	Index int
	Order int
	Name  string
}

// HighestNumber returns the largest rerun number of the records, 0 when there is none.
func HighestNumber(records []Record) int {
	highest := 0
	for _, r := range records {
		highest = max(highest, r.Number)
	}
	return highest
}

// Pending returns the requested indices of r without a value of the same number, in the order of the request.
func (r Record) Pending(values []Value) []int {
	pending := []int{}
	for _, index := range r.Requested {
		if !slices.ContainsFunc(values, func(v Value) bool { return v.Number == r.Number && v.Index == index }) {
			pending = append(pending, index)
		}
	}
	return pending
}
