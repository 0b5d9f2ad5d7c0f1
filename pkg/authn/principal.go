package authn

import (
	"context"
	"slices"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// Kind tells how a principal proved itself.
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

// The kinds of login. A bearer token may carry none: an instrument interface of a laboratory.
const (
	LabUser          SessionType = "lab_user"
	Doctor           SessionType = "doctor"
	Support          SessionType = "support"
	Organization     SessionType = "organization"
	CollectionCenter SessionType = "collection_center"
)

// PlatformUser is the acting user id of internal calls.
const PlatformUser int64 = -1

// Principal is who is calling, built once per call. Ids that a login does not have are zero.
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

	// Caller is the calling service, for Kind Service; on behalf of the gateway's internal listener it is
	// the service that called the gateway.
	Caller string
	// Via is the service whose token it is: Caller itself, or the gateway that acts for it.
	Via string
	// Grant is what a token of the service's own says, for services that issue some; nil for everybody else.
	Grant any
	// Internal is set when the call came through the internal listener with x-is-internal-request.
	Internal bool
}

// IsInstrument reports whether this is the interface of an instrument: a token of a laboratory that names no kind of
// login. Tokens that a service issues itself have a Grant.
func (p Principal) IsInstrument() bool {
	return p.Kind == Bearer && p.SessionType == "" && p.Grant == nil
}

// IsStaff reports whether the login belongs to the laboratory itself: its users, and support.
func (p Principal) IsStaff() bool { return p.SessionType == LabUser || p.SessionType == Support }

// departmentDoctor is the docType of a laboratory's own doctor.
const departmentDoctor = 0

// ReferringDoctor returns the doctor of a login that sees its own bills alone. A department's doctor is no such login;
// a doctor of any other type, or of none, is.
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

// LabScope limits a query to one laboratory. It can only be made from a Principal. The zero LabScope is of no
// laboratory:
// what is selected with it is nothing.
type LabScope struct{ labID int64 }

// LabID returns the laboratory's id, never zero for a scope that was made.
func (s LabScope) LabID() int64 { return s.labID }

// ErrNoLab reports that the session belongs to no laboratory.
var ErrNoLab = apperr.New(apperr.Invalid, "NO_LABORATORY", "lab_id is missing: the session belongs to no laboratory")

// ErrLabMismatch reports that the request names another laboratory than the credential.
var ErrLabMismatch = apperr.New(apperr.Invalid, "LABORATORY_MISMATCH", "lab_id does not belong to this session")

// Scope returns the laboratory that a call works on. named is the request's lab_id, zero when it has none:
// services must name one, users may only name their own.
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

// ScopeOfAny returns the laboratory called named for support and global administrators, who work for all of them.
// Everybody else is ErrLabMismatch, as with Scope. Only operations that document this may use it.
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

// FromContext returns the principal of the call; Anonymous when the method needs none.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
