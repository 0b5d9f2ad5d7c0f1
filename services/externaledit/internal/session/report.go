package session

// Report is what sessions need to know of a lab report.
type Report struct {
	ID        int64
	BillID    int64
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
