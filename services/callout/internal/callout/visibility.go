package callout

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// Rule selects the reports of the laboratory that a session may see.
type Rule int

// Rules of visibility. The zero Rule allows no report.
const (
	Nothing            Rule = iota
	Everything              // all reports, for support
	SessionDepartments      // the departments that the session lists
	DoctorDepartments       // the departments that DoctorDepartmentRelation lists
	UserDepartments         // the departments that LabUserDepartmentRelation lists
	DoctorBills             // bills assigned to the doctor
)

// Visibility is a rule and the person to whom it applies.
type Visibility struct {
	Rule        Rule
	Departments []int64 // for SessionDepartments
	PersonID    int64   // id of the doctor or lab user
}

// OwnBills returns the doctor to whose bills history and figures are restricted. ok is false if the session may see
// those of the whole laboratory.
func (v Visibility) OwnBills() (doctorID int64, ok bool) {
	if v.Rule != DoctorBills {
		return 0, false
	}
	return v.PersonID, true
}

// byRelation is the departmentDataType of users whose departments are rows of a relation table.
const byRelation = 1

// ErrNoAccess is returned for a kind of login without access to critical results.
var ErrNoAccess = apperr.New(apperr.Forbidden, "SESSION_TYPE_WITHOUT_ACCESS",
	"Critical results are for lab users, doctors and support of the laboratory; log in as one of them")

// VisibilityOf returns the visibility of a session. Unknown types get the least access: with an unknown docType own
// bills only, with an unknown departmentDataType the departments of the session. An unknown kind of login gets
// ErrNoAccess.
func VisibilityOf(p authn.Principal) (Visibility, error) {
	if doctorID, ok := p.ReferringDoctor(); ok {
		return Visibility{Rule: DoctorBills, PersonID: doctorID}, nil
	}
	switch p.SessionType {
	case authn.Doctor:
		return Visibility{Rule: DoctorDepartments, PersonID: p.DoctorID}, nil
	case authn.LabUser:
		if p.DepartmentDataType == byRelation {
			return Visibility{Rule: UserDepartments, PersonID: p.LabUserID}, nil
		}
		return Visibility{Rule: SessionDepartments, Departments: slices.Clone(p.DepartmentIDs)}, nil
	case authn.Support:
		return Visibility{Rule: Everything}, nil
	}
	return Visibility{}, ErrNoAccess
}
