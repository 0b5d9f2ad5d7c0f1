package grpcapi

import (
	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// Either permission lets a user change a laboratory's mappings.
const (
	permissionConfigure = "cell_counter_configure"
	permissionEdit      = "cell_counter_edit"
)

// DefaultScope says what a write without a lab_id is meant for.
type DefaultScope string

// The values of CELL_COUNTER_DEFAULT_SCOPE.
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
	errTwoLabs = apperr.InvalidField("lab_id", "lab_id of the query and of the body differ; give one of them")
	errNoTest  = apperr.InvalidField("test_id", "test_id must be a positive integer")
)

// reads returns the laboratory whose mappings the caller may read: the named one, or the caller's own. The zero scope
// is the defaults, for a caller without a laboratory who may see all of them.
func reads(p authn.Principal, named int64) (authn.LabScope, error) {
	everywhere := p.IsGlobalAdmin || p.Kind == authn.Service || p.SessionType == authn.Support
	if named == 0 && p.LabID == 0 && everywhere {
		return authn.LabScope{}, nil
	}
	return ofLab(p, named)
}

// ofLab returns the named laboratory, or the caller's own.
func ofLab(p authn.Principal, named int64) (authn.LabScope, error) {
	if named < 0 {
		return authn.LabScope{}, apperr.InvalidField("lab_id", "lab_id must be a positive integer")
	}
	scope, err := p.ScopeOfAny(named)
	if err != nil && p.LabID > 0 && named != p.LabID {
		return scope, errOtherLab
	}
	return scope, err
}

// writes returns the laboratory whose mappings the caller may change, or the zero scope for the defaults.
func (d DefaultScope) writes(p authn.Principal, named int64) (authn.LabScope, error) {
	if named == 0 && d == DefaultIsSession {
		named = p.LabID
	}
	if named == 0 {
		if p.IsGlobalAdmin || p.Kind == authn.Service {
			return authn.LabScope{}, nil
		}
		return authn.LabScope{}, errNotGlobal
	}
	scope, err := ofLab(p, named)
	if err != nil {
		return scope, err
	}
	if p.Kind != authn.Service && !p.Has(permissionConfigure) && !p.Has(permissionEdit) {
		return authn.LabScope{}, errNotAllowed
	}
	return scope, nil
}

// oneLab joins the two places in which a request may name its laboratory; 0 when neither does.
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
