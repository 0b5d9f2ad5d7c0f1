package session

import (
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
)

// Report is what sessions need to know of a lab report.
type Report struct {
	ID        int64
	BillID    int64
	PatientID int64
	DoctorID  int64 // to whom the bill is assigned, 0 without one
	Signed    bool
	Dismissed bool
	Files     Files // that are linked to it
}

// CheckEditable refuses a new session of a report that must not change any more.
func (r Report) CheckEditable() error {
	switch {
	case r.Signed:
		return ErrSignedReport
	case r.Dismissed:
		return ErrDismissedReport
	}
	return nil
}

// CheckLinkable refuses new files for a report that was signed or dismissed while someone edited it.
func (r Report) CheckLinkable() error {
	switch {
	case r.Signed:
		return ErrSignedMeanwhile
	case r.Dismissed:
		return ErrDismissedMeanwhile
	}
	return nil
}

// Permissions of authors.
const (
	PermissionEdit     = "report_edit"
	PermissionTakeOver = "report_edit_takeover"
)

// Author is the laboratory user or the doctor who holds a session.
type Author struct {
	ID       int64
	Name     string
	IsDoctor bool // ID is a doctor's
}

// Is reports whether both are the same person, whatever the name is now.
func (a Author) Is(other Author) bool { return a.ID == other.ID && a.IsDoctor == other.IsDoctor }

// Actor is the author in the activity log.
func (a Author) Actor() authn.Actor {
	kind := authn.ActorLabUser
	if a.IsDoctor {
		kind = authn.ActorDoctor
	}
	return authn.Actor{Kind: kind, ID: a.ID, Name: a.Name}
}

// HeldReport is a report with its active session.
type HeldReport struct {
	EditID, ReportID     int64
	TestName, SampleID   string
	LabBillID            int64 // 0: no bill
	Patient              worklist.Patient
	AuthorName           string
	CreatedAt, UpdatedAt time.Time
}
