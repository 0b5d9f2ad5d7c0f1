package grpcapi

import (
	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cellcounter/internal/mapping"
	"github.com/labplatform/labplatform/services/cellcounter/internal/observe"
)

// Permissions to change a laboratory's mappings. A user needs one of them.
const (
	permissionConfigure = "cell_counter_configure"
	permissionEdit      = "cell_counter_edit"
)

// DefaultScope selects the scope of a write without a lab_id.
type DefaultScope string

// Values of CELL_COUNTER_DEFAULT_SCOPE.
const (
	DefaultIsGlobal  DefaultScope = "global"  // the defaults of all laboratories
	DefaultIsSession DefaultScope = "session" // the session's laboratory
)

var (
	errOtherLab = apperr.New(apperr.Forbidden, "OTHER_LABORATORY",
		"These mappings belong to another laboratory; leave lab_id out to work on your own")
	errNotAllowed = apperr.New(apperr.Forbidden, "NOT_ALLOWED",
		"Changing these mappings needs the permission cell_counter_configure; ask an administrator of the laboratory")
	errNotGlobal = apperr.New(apperr.Forbidden, "GLOBAL_ADMINISTRATOR_REQUIRED",
		"Without lab_id the defaults of all laboratories would change, which needs a global administrator; give your lab_id")
	errNoCounts = apperr.New(apperr.Forbidden, "NOT_ALLOWED",
		"Counts are kept and read by lab users, doctors and support of the laboratory")
	errTwoLabs = apperr.InvalidField("lab_id", "lab_id of the query and of the body differ; give one of them")
	errNoTest  = apperr.InvalidField("test_id", "test_id must be a positive integer")
)

// reads returns the owner of the mappings that the caller reads: the named laboratory, or the caller's own. A caller
// without a laboratory who may see all laboratories reads the defaults.
func reads(p authn.Principal, named int64) (mapping.Owner, error) {
	if named == 0 && p.LabID == 0 && (p.IsGlobalAdmin || p.SessionType == authn.Support) {
		return mapping.Defaults(), nil
	}
	return ofLab(p, named)
}

// ofLab returns the named laboratory, or the caller's own.
func ofLab(p authn.Principal, named int64) (mapping.Owner, error) {
	if named < 0 {
		return mapping.Owner{}, apperr.InvalidField("lab_id", "lab_id must be a positive integer")
	}
	scope, err := p.ScopeOfAny(named)
	if err != nil && p.LabID > 0 && named != p.LabID {
		return mapping.Owner{}, errOtherLab
	}
	return mapping.Of(scope), err
}

// writes returns the owner of the mappings that the caller may change.
func (d DefaultScope) writes(p authn.Principal, named int64) (mapping.Owner, error) {
	if named == 0 && d == DefaultIsSession {
		named = p.LabID
	}
	if named == 0 {
		if p.IsGlobalAdmin {
			return mapping.Defaults(), nil
		}
		return mapping.Owner{}, errNotGlobal
	}
	owner, err := ofLab(p, named)
	if err != nil {
		return owner, err
	}
	if !mayChange(p, owner) {
		return mapping.Owner{}, errNotAllowed
	}
	return owner, nil
}

// mayChange reports whether the caller may change the owner's mappings. The caller must already be permitted to name
// the owner.
func mayChange(p authn.Principal, owner mapping.Owner) bool {
	return !owner.AreDefaults() && (p.Has(permissionConfigure) || p.Has(permissionEdit))
}

// counts returns the reports for which the caller may count: all of the laboratory for staff and department doctors;
// for referring doctors, those on their own bills.
func counts(p authn.Principal) (observe.Access, error) {
	lab, err := p.Scope(0)
	if err != nil {
		return observe.Access{}, err
	}
	doctorID, ownBills := p.ReferringDoctor()
	if !p.IsStaff() && p.SessionType != authn.Doctor {
		return observe.Access{}, errNoCounts
	}
	return observe.Access{Lab: lab, OwnBills: ownBills, DoctorID: doctorID}, nil
}

// oneLab returns the laboratory that the query or the body of a request names; 0 if neither does; an error if they
// differ.
func oneLab(query, body *int64) (int64, error) {
	switch {
	case query != nil && body != nil && *query != *body:
		return 0, errTwoLabs
	case body != nil:
		return positive(*body)
	case query != nil:
		return positive(*query)
	}
	return 0, nil
}

func positive(id int64) (int64, error) {
	if id <= 0 {
		return 0, apperr.InvalidField("lab_id", "lab_id must be a positive integer")
	}
	return id, nil
}
