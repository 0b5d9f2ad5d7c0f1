package authn

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/config"
)

// Kind is the kind of credential that a principal was authenticated by.
type Kind int

// The kinds of principals.
const (
	Anonymous Kind = iota
	Session        // a web session
	Bearer         // a user's token
	Service        // another service of the platform
)

// SessionType is the kind of login behind a session.
type SessionType string

// The types of login. A bearer token may have none: it then belongs to an instrument interface of a
// laboratory.
const (
	LabUser          SessionType = "lab_user"
	Doctor           SessionType = "doctor"
	Support          SessionType = "support"
	Organization     SessionType = "organization"
	CollectionCenter SessionType = "collection_center"
)

// PlatformUser is the acting user id of internal calls.
const PlatformUser int64 = -1

// Principal is the authenticated caller, built once per call. Ids that a login does not have are zero.
type Principal struct {
	Kind        Kind
	SessionType SessionType

	LabID    int64
	BranchID int64
	OrgID    int64
	CCID     int64

	LabUserID int64
	Username  string
	FullName  string

	DoctorID           int64
	DocType            *int
	DepartmentDataType int
	DepartmentIDs      []int64

	Permissions   []string
	IsGlobalAdmin bool

	// Caller is the calling service, if Kind is Service. For a call forwarded by the gateway's internal listener
	// it is the service that called the gateway.
	Caller string
	// Via is the service that issued the token: Caller itself, or the gateway that forwards for it.
	Via string
	// Grant holds the claims of a token that the service issued itself; nil for every other credential.
	Grant any
	// Login is the id of the session of a cookie, with which the login is looked up again; empty for other credentials.
	Login config.Secret
	// Internal is set when the call came through the internal listener with x-is-internal-request.
	Internal bool
}

// IsInstrument reports whether the principal is an instrument interface: a laboratory's token without a
// session type. Tokens that a service issued itself have a Grant and are not instruments.
func (p Principal) IsInstrument() bool {
	return p.Kind == Bearer && p.SessionType == "" && p.Grant == nil
}

// IsStaff reports whether the login belongs to the laboratory itself: a lab user or support.
func (p Principal) IsStaff() bool { return p.SessionType == LabUser || p.SessionType == Support }

// departmentDoctor is the DocType of a doctor employed by the laboratory.
const departmentDoctor = 0

// ReferringDoctor returns the id of a referring doctor, who sees only bills of their own: a doctor with any DocType
// except that of department doctors, or without one. ok is false for all other logins.
func (p Principal) ReferringDoctor() (doctorID int64, ok bool) {
	if p.SessionType != Doctor || p.DocType != nil && *p.DocType == departmentDoctor {
		return 0, false
	}
	return p.DoctorID, true
}

// Has reports whether the principal holds a permission. Global administrators hold all.
func (p Principal) Has(permission string) bool {
	return p.IsGlobalAdmin || slices.Contains(p.Permissions, permission)
}

// LabScope limits a query to one laboratory. Only a Principal can create one. The zero LabScope selects no
// rows.
type LabScope struct{ labID int64 }

// LabID returns the laboratory's id. It is zero only for the zero LabScope.
func (s LabScope) LabID() int64 { return s.labID }

// ErrNoLab is returned for a session that belongs to no laboratory.
var ErrNoLab = apperr.New(apperr.Invalid, "NO_LABORATORY", "lab_id is missing: the session belongs to no laboratory")

// ErrLabMismatch is returned when the request names another laboratory than the credential.
var ErrLabMismatch = apperr.New(apperr.Invalid, "LABORATORY_MISMATCH", "lab_id does not belong to this session")

// Scope returns the laboratory of a call. named is the request's lab_id, or zero if it has none: services must
// name a laboratory, users may only name their own. Errors: ErrNoLab, ErrLabMismatch.
func (p Principal) Scope(named int64) (LabScope, error) {
	if p.Kind == Service {
		if named <= 0 {
			return LabScope{}, apperr.New(apperr.Invalid, "NO_LABORATORY", "lab_id is required on internal calls")
		}
		return LabScope{named}, nil
	}
	if p.LabID <= 0 {
		return LabScope{}, ErrNoLab
	}
	if named != 0 && named != p.LabID {
		return LabScope{}, ErrLabMismatch
	}
	return LabScope{p.LabID}, nil
}

// ScopeOfAny returns the laboratory of a call whose operation documents access to all laboratories: support and global
// administrators may name any laboratory. Every other caller gets the result of Scope.
func (p Principal) ScopeOfAny(named int64) (LabScope, error) {
	if named > 0 && (p.IsGlobalAdmin || p.SessionType == Support) {
		return LabScope{named}, nil
	}
	return p.Scope(named)
}

type contextKey struct{}

// NewContext returns ctx with the principal of the call.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext returns the principal of the call, or the zero Principal (Anonymous) if the method requires
// none.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
