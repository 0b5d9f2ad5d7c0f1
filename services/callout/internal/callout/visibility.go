package callout

import (
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// Rule selects the reports of its laboratory that a session sees.
type Rule int

// The rules. The zero Rule shows nothing.
const (
	Nothing            Rule = iota
	Everything              // support
	SessionDepartments      // the departments that the session lists
	DoctorDepartments       // the departments that DoctorDepartmentRelation lists
	UserDepartments         // the departments that LabUserDepartmentRelation lists
	DoctorBills             // bills that are assigned to the doctor
)

// Visibility is a rule for one person.
type Visibility struct {
	Rule        Rule
	Departments []int64 // for SessionDepartments
	PersonID    int64   // the doctor or the lab user
}

// OwnBills returns the doctor to whose bills history and figures are limited as well; ok is false for sessions whose
// history and figures cover the laboratory.
func (v Visibility) OwnBills() (doctorID int64, ok bool) {
	if v.Rule != DoctorBills {
		return 0, false
	}
	return v.PersonID, true
}

// byRelation is the departmentDataType of users whose departments are rows.
const byRelation = 1

// ErrNoAccess is returned for a kind of login without access to critical results.
var ErrNoAccess = apperr.New(apperr.Forbidden, "SESSION_TYPE_WITHOUT_ACCESS",
	"Critical results are for lab users, doctors and support of the laboratory; log in as one of them")

// VisibilityOf returns the visibility of a session. Unknown values see least: another docType is a doctor with own
// bills alone, another departmentDataType has the list of the session, another kind of login has no access.
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
