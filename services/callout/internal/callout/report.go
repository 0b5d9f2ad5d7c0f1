package callout

import (
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// ErrNoBill is a bill that the laboratory does not have.
var ErrNoBill = apperr.New(apperr.NotFound, "BILL_NOT_FOUND", "There is no such bill in this laboratory")

// Bill holds the ids of a bill that callouts store; 0 where the bill has none.
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
	DoctorID       *int64 // docForId
	FormatID       *int64
	Comments       *string
	Status         Status
	Flags          Flags
	Test           Test
	Chart          Chart
	SampleTaken    bool
	Dismissed      bool
	Deleted        bool // the row does not exist any more
	CollectedAt    time.Time
	PatientName    string
	LabPatientID   string // the laboratory's own number
	LabBillID      int64  // as printed
	Bill           Bill   // as it is today
	RerunRequested bool
	TouchedAt      time.Time // when the row last changed
}

// Flags are passed on as they are stored.
type Flags struct {
	OnHold, IsSigned, IsSynced, IsProfile, IsApproved, IsResolved int
	InQuestion, NotPerformed, ClaimOnHold, AutoApprovalStatus     int
}

// Test is the test of a report.
type Test struct {
	ID             int64
	Name           string
	DepartmentID   *int64
	DepartmentName string
	IsProfile      int
}

// Chart holds the inputs of the judgement of a report.
type Chart struct {
	Patient  clinical.Patient
	Tests    []int64 // the report's own test first, then those of its profile
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

// Format is a parameter of a test with its ranges. Bands and Printed belong together by position.
type Format struct {
	ID, TestID   int64
	Index, Order int
	Name, Unit   string
	Bands        []clinical.Band
	Printed      []Printed
}

// Printed is a band as it is printed for people.
type Printed struct{ Reference, Critical string }

// Formats are the enabled parameters by test.
type Formats map[int64][]Format

// Parameter is a critical value as it is shown and stated.
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
	// Absent is set when the report no longer had the value when it was stated.
	Absent bool `json:"absent,omitempty"`
}

// The flags of a critical value.
const (
	FlagLow  = "critical_low"
	FlagHigh = "critical_high"
	FlagText = "critical_text"
)

// Before reports whether r is an earlier result than o.
func (r *Report) Before(o *Report) bool {
	if mine, other := r.collected(), o.collected(); !mine.Equal(other) {
		return mine.Before(other)
	}
	return r.ID < o.ID
}

// collected returns when the sample was collected; without that, when the newest value was stored.
func (r *Report) collected() time.Time {
	at := r.CollectedAt
	for i := range r.Chart.Readings {
		if stored := r.Chart.Readings[i].At; r.CollectedAt.IsZero() && stored.After(at) {
			at = stored
		}
	}
	return at
}

// Identify completes stored parameters that do not name their test: by the id of their format, else by the test of the
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
