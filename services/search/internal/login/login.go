// Package login returns the caller's login and laboratory, so that a page can show both.
package login

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Laboratory is the laboratory of a login.
type Laboratory struct {
	ID       int64
	Name     string
	Timezone string // IANA name of the time zone
}

// Reader reads laboratories.
type Reader interface {
	Laboratory(ctx context.Context, lab authn.LabScope) (Laboratory, error)
}

// UseCase describes logins.
type UseCase struct{ reader Reader }

// New returns a use case that reads from r.
func New(r Reader) *UseCase { return &UseCase{reader: r} }

// Laboratory returns the laboratory of p. It returns Invalid for a login without a laboratory, or an error of the
// database.
func (u *UseCase) Laboratory(ctx context.Context, p authn.Principal) (Laboratory, error) {
	lab, err := p.Scope(0)
	if err != nil {
		return Laboratory{}, err
	}
	return u.reader.Laboratory(ctx, lab)
}
