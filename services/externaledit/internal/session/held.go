package session

import (
	"time"

	"github.com/labplatform/labplatform/pkg/lab/worklist"
)

// HeldReport is a report with its active session.
type HeldReport struct {
	EditID, ReportID     int64
	TestName, SampleID   string
	LabBillID            int64 // 0: no bill
	Patient              worklist.Patient
	AuthorName           string
	CreatedAt, UpdatedAt time.Time
}
