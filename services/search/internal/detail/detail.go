// Package detail reads one patient from the tables for a caller who may see the patient, and records the access in the
// audit log.
package detail

import (
	"context"
	"log/slog"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// ErrNoUser is returned for a patient who does not exist, is deleted, or is not visible to the caller. It does not
// reveal which.
var ErrNoUser = apperr.New(apperr.NotFound, "USER_NOT_FOUND",
	"There is no such patient here. Search again: the patient may have been merged or removed.")

// Record is a patient with the affiliations that determine who may see the patient. Lists hold at most 5,000 entries,
// the newest last.
type Record struct {
	search.Person
	search.Places
}

// Reader reads patients.
type Reader interface {
	// Record returns a patient, or ErrNoUser if the patient is deleted or unknown in the laboratory.
	Record(ctx context.Context, lab authn.LabScope, userID int64) (Record, error)
	// IsReferredBy reports whether one of the patient's bills is assigned to the doctor.
	IsReferredBy(ctx context.Context, lab authn.LabScope, userID, doctorID int64) (bool, error)
	// Own removes from patients the numbers of bills and reports that the login may not see.
	Own(ctx context.Context, sees sight.Sight, patients []*search.Person) error
}

// Limiter limits how many patients a caller may read.
type Limiter interface {
	// AdmitRead counts a read. It returns TooManyRequests if the limit is exceeded.
	AdmitRead(ctx context.Context, p authn.Principal, lab authn.LabScope) error
}

// Deps are the dependencies of the use case.
type Deps struct {
	Limiter Limiter
	Reader  Reader
	// Audit receives one line per patient shown. It must not drop lines because of their level.
	Audit *slog.Logger
}

// UseCase reads patients.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Read returns a patient whom p may see. Errors: Invalid, Forbidden, TooManyRequests, ErrNoUser, and errors of the
// database.
func (u *UseCase) Read(ctx context.Context, p authn.Principal, userID int64) (search.Person, error) {
	scope, err := search.ScopeOf(p, 0)
	if err != nil {
		return search.Person{}, err
	}
	if err := u.d.Limiter.AdmitRead(ctx, p, scope.Lab); err != nil {
		return search.Person{}, err
	}
	return u.Show(ctx, p, scope, userID)
}

// Show reads a patient like Read, but does not check the rate limit. scope must be that of p.
func (u *UseCase) Show(
	ctx context.Context, p authn.Principal, scope search.Scope, userID int64,
) (search.Person, error) {
	if doctorID, ok := p.ReferringDoctor(); ok {
		own, err := u.d.Reader.IsReferredBy(ctx, scope.Lab, userID, doctorID)
		if err != nil {
			return search.Person{}, err
		}
		if !own {
			return search.Person{}, ErrNoUser
		}
	}
	record, err := u.d.Reader.Record(ctx, scope.Lab, userID)
	switch {
	case err != nil:
		return search.Person{}, err
	case !scope.Admits(record.Places):
		return search.Person{}, ErrNoUser
	}
	sees, err := sight.Of(p, scope.Lab)
	if err == nil && sees.IsOutside() {
		err = u.d.Reader.Own(ctx, sees, []*search.Person{&record.Person})
	}
	if err != nil {
		return search.Person{}, err
	}
	u.note(ctx, p, scope, userID)
	return record.Person, nil
}

// note logs the ids of the caller and of the patient shown.
func (u *UseCase) note(ctx context.Context, p authn.Principal, scope search.Scope, userID int64) {
	u.d.Audit.InfoContext(ctx, "patient was read", "audit", true, "user_id", userID, "lab_id", scope.Lab.LabID(),
		"credential", credential(p.Kind), "session_type", string(p.SessionType), "actor_id", p.Actor().ID,
		"org_id", p.OrgID, "cc_id", p.CCID, "branch_id", p.BranchID)
}

func credential(k authn.Kind) string {
	switch k {
	case authn.Session:
		return "session"
	case authn.Bearer:
		return "token"
	case authn.Service:
		return "service"
	}
	return "none"
}
