package callout

import (
	"strings"
	"time"
)

// PreviousPatient is a patient in statements of a report who is not the report's present patient.
type PreviousPatient struct {
	Exists          bool // the laboratory has a record of the patient
	Name, Gender    string
	BirthDate       time.Time // zero: unknown
	Deleted, Billed bool
	Called          bool   // a completed call about the report was about the patient
	CalledAs        string // the patient's name at the newest call; "" if unknown
}

// MergedInto reports whether the patient's record was merged into the record of the report's patient. Sex and birth
// date must not differ; the record is either deleted and has the same name or birth date, or has no bill and the same
// name. A record that no longer exists counts as merged unless a call was about it under another name or an unknown
// one: otherwise a call about one person would count as a call about another.
func (p *PreviousPatient) MergedInto(r *Report) bool {
	if !p.Exists {
		return !p.Called || p.CalledAs != "" && p.CalledAs == r.PatientName
	}
	now := r.Chart.Patient
	if p.Gender != "" && now.Gender != "" && !strings.EqualFold(p.Gender, now.Gender) {
		return false
	}
	bornKnown := !p.BirthDate.IsZero() && !now.BirthDate.IsZero()
	if bornKnown && !p.BirthDate.Equal(now.BirthDate) {
		return false
	}
	sameName := p.Name != "" && p.Name == r.PatientName
	return p.Deleted && (bornKnown || sameName) || !p.Billed && sameName
}
