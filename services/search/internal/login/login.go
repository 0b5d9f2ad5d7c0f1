// Package login describes the caller's own login, so that a page shows who is logged in and where.
package login

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
)

// Laboratory is the laboratory of a login.
type Laboratory struct {
	ID       int64
	Name     string
	Timezone string // IANA name
}

// Reader reads laboratories.
type Reader interface {
	Laboratory(ctx context.Context, lab authn.LabScope) (Laboratory, error)
}

// UseCase describes logins.
type UseCase struct{ reader Reader }

// New returns the use case.
func New(r Reader) *UseCase { return &UseCase{reader: r} }

// Laboratory returns the laboratory of p. Errors: Invalid for a login of no laboratory, and those of the tables.
func (u *UseCase) Laboratory(ctx context.Context, p authn.Principal) (Laboratory, error) {
	lab, err := p.Scope(0)
	if err != nil {
		return Laboratory{}, err
	}
	return u.reader.Laboratory(ctx, lab)
}
