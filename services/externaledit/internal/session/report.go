package session

import (
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
)

// Report is the part of a lab report that sessions need.
type Report struct {
	ID        int64
	BillID    int64
	PatientID int64
	DoctorID  int64 // referring doctor of the bill; 0 without one
	Signed    bool
	Dismissed bool
	Files     Files // linked files
}

// CheckEditable returns an error if the report must not change any more, so that no session may be opened.
func (r Report) CheckEditable() error {
	switch {
	case r.Signed:
		return ErrSignedReport
	case r.Dismissed:
		return ErrDismissedReport
	}
	return nil
}

// CheckLinkable returns an error if the report was signed or dismissed during the session, so that no files may be
// linked.
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
	IsDoctor bool // ID is the id of a doctor
}

// Is reports whether both are the same person; the name may differ.
func (a Author) Is(other Author) bool { return a.ID == other.ID && a.IsDoctor == other.IsDoctor }

// Actor returns the author as an actor of the activity log.
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
