package callout

import (
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// ErrNoBill is returned for a bill that the laboratory does not have.
var ErrNoBill = apperr.New(apperr.NotFound, "BILL_NOT_FOUND", "There is no such bill in this laboratory")

// Bill holds the ids of a bill that callouts store; missing ones are 0.
type Bill struct {
	ID        int64
	OrgID     int64
	DoctorID  int64 // the referring doctor
	PatientID int64
}

// Report is a lab report as the platform stores it, with its test.
type Report struct {
	ID             int64
	BillID         int64
	PatientID      int64
	OrgID          *int64
	DoctorID       *int64 // column docForId: the doctor of the report
	FormatID       *int64
	Comments       *string
	Status         Status
	Flags          Flags
	Test           Test
	Chart          Chart
	SampleTaken    bool
	Dismissed      bool
	Deleted        bool // the row was deleted
	CollectedAt    time.Time
	PatientName    string
	LabPatientID   string // the patient's number in the laboratory
	LabBillID      int64  // the bill number as printed
	Bill           Bill   // the present bill
	RerunRequested bool
	TouchedAt      time.Time // when the row last changed
}

// Flags are columns of the report that the service returns as stored.
type Flags struct {
	OnHold, IsSigned, IsSynced, IsProfile, IsApproved, IsResolved int
	InQuestion, NotPerformed, ClaimOnHold, AutoApprovalStatus     int
}

// Test is the laboratory test that a report is about.
type Test struct {
	ID             int64
	Name           string
	DepartmentID   *int64
	DepartmentName string
	IsProfile      int
}

// Chart holds the data needed to judge a report's values.
type Chart struct {
	Patient  clinical.Patient
	Tests    []int64 // the report's own test first, then the tests of its profile
	Readings []Reading
}

// Reading is one stored value of a report.
type Reading struct {
	ProfileTestID int64 // 0: the report's own test
	Index, Order  int
	Name          string
	Value         string
	At            time.Time // when it was stored
}

// Format is a parameter of a test with its ranges. Printed[i] is the text of Bands[i].
type Format struct {
	ID, TestID   int64
	Index, Order int
	Name, Unit   string
	Bands        []clinical.Band
	Printed      []Printed
}

// Printed holds the reference and critical range of a band as text.
type Printed struct{ Reference, Critical string }

// Formats maps a test id to its enabled parameters.
type Formats map[int64][]Format

// Parameter is a critical value as displayed and stated.
type Parameter struct {
	Value          *float64 `json:"value"`
	Name           string   `json:"parameter_name"`
	ReferenceRange string   `json:"reference_range"`
	Unit           string   `json:"unit"`
	CriticalRange  string   `json:"critical_range"`
	Flag           string   `json:"flag"`
	RawValue       string   `json:"raw_value"`
	Index          int      `json:"index"`
	FormatID       int64    `json:"report_format_id"`
	TestID         int64    `json:"test_id,omitempty"`
	// Absent is set if the report no longer had the value when the statement was recorded.
	Absent bool `json:"absent,omitempty"`
}

// Flags of a critical value: the side on which it is critical.
const (
	FlagLow  = "critical_low"
	FlagHigh = "critical_high"
	FlagText = "critical_text"
)

// Before reports whether r is an earlier result than o, by collection time.
func (r *Report) Before(o *Report) bool {
	if mine, other := r.collected(), o.collected(); !mine.Equal(other) {
		return mine.Before(other)
	}
	return r.ID < o.ID
}

// collected returns when the sample was collected or, if unknown, when the newest value was stored.
func (r *Report) collected() time.Time {
	at := r.CollectedAt
	for i := range r.Chart.Readings {
		if stored := r.Chart.Readings[i].At; r.CollectedAt.IsZero() && stored.After(at) {
			at = stored
		}
	}
	return at
}

// Identify sets the test of stored parameters without one: the test of their format or, if unknown, the test of the
// report.
func (r *Report) Identify(stored []Parameter, formats Formats) {
	for i := range stored {
		p := &stored[i]
		if p.TestID != 0 {
			continue
		}
		p.TestID = r.Test.ID
		for test, list := range formats {
			for j := range list {
				if list[j].ID == p.FormatID {
					p.TestID = test
				}
			}
		}
	}
}
