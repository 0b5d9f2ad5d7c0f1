// Package find searches patients: it checks who may search and how often, limits the cost of searches, and counts
// results.
package find

import (
	"context"
	"errors"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Limiter limits how many searches a user may make.
type Limiter interface {
	// Admit counts a search and returns the effort that it may cost, or TooManyRequests.
	Admit(ctx context.Context, p authn.Principal, lab authn.LabScope) (search.Effort, error)
}

// Index finds patients. It must never return a patient outside the scope.
type Index interface {
	Search(ctx context.Context, scope search.Scope, q search.Query, effort search.Effort) (search.Result, error)
}

// Numbers reads which bill and report numbers a login may see.
type Numbers interface {
	// Own removes from patients the numbers that the login may not see.
	Own(ctx context.Context, sees sight.Sight, patients []*search.Person) error
}

// leastSize is the maximum page size with effort search.Least.
const leastSize = 10

// Deps are the dependencies of the use case.
type Deps struct {
	Limiter     Limiter
	Index       Index
	Numbers     Numbers
	DefaultSize int // page size of requests without a size
	Clock       clock.Clock
	Metrics     *Metrics
}

// UseCase searches.
type UseCase struct{ d Deps }

// New returns a use case with the dependencies d.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Command is a caller's request. LabID is the laboratory in the request, or 0 if there is none.
type Command struct {
	search.Request

	LabID int64
}

// Answer is the result of a search, with the checked query and the effort.
type Answer struct {
	search.Result

	Query  search.Query
	Effort search.Effort
}

// Search finds patients that p may see. Errors: Invalid, Forbidden, TooManyRequests, and errors of the index and the
// database.
func (u *UseCase) Search(ctx context.Context, p authn.Principal, c Command) (Answer, error) {
	answer, err := u.search(ctx, p, c)
	u.d.Metrics.finished(search.Key(c.Key), answer, err)
	return answer, err
}

// errReferring is returned to referring doctors: the index does not contain the doctors of bills, so a search cannot be
// restricted to their patients.
var errReferring = apperr.New(apperr.Forbidden, "NO_SEARCH_FOR_REFERRING_DOCTORS",
	"Referring doctors cannot search the laboratory's patients; open a patient of your own from a bill or a report")

func (u *UseCase) search(ctx context.Context, p authn.Principal, c Command) (a Answer, err error) {
	if _, ok := p.ReferringDoctor(); ok {
		return a, errReferring
	}
	scope, err := search.ScopeOf(p, c.LabID)
	if err != nil {
		return a, err
	}
	if a.Effort, err = u.d.Limiter.Admit(ctx, p, scope.Lab); err != nil {
		return a, err
	}
	if a.Query, err = u.query(c.Request, a.Effort); err != nil {
		return a, err
	}
	from := u.d.Clock.Now()
	a.Result, err = u.d.Index.Search(ctx, scope, a.Query, a.Effort)
	u.d.Metrics.took(ctx, a.Query.Key, u.d.Clock.Now().Sub(from))
	if err != nil {
		return a, err
	}
	return a, u.own(ctx, p, scope.Lab, a.Hits)
}

// own removes the numbers of other bills from the hits for a login outside the laboratory.
func (u *UseCase) own(ctx context.Context, p authn.Principal, lab authn.LabScope, hits []search.Hit) error {
	sees, err := sight.Of(p, lab)
	if err != nil || !sees.IsOutside() || len(hits) == 0 {
		return err
	}
	patients := make([]*search.Person, len(hits))
	for i := range hits {
		patients[i] = &hits[i].Person
	}
	return u.d.Numbers.Own(ctx, sees, patients)
}

// query checks the request. With the least effort, it reduces the page size; page numbers then refer to the reduced
// size.
func (u *UseCase) query(r search.Request, effort search.Effort) (search.Query, error) {
	q, err := search.NewQuery(r, u.d.DefaultSize)
	if err != nil || effort != search.Least || q.Size <= leastSize {
		return q, err
	}
	size := leastSize
	r.Size = &size
	return search.NewQuery(r, u.d.DefaultSize)
}

// outcome returns the metric label for the result of a search.
func outcome(a Answer, err error) string {
	_, typed := apperr.From(err)
	switch {
	case err == nil && a.Partial:
		return "partial"
	case err == nil:
		return "ok"
	case !typed && errors.Is(err, context.Canceled):
		return "canceled"
	case !typed && errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	switch apperr.KindOf(err) {
	case apperr.Invalid:
		return "invalid"
	case apperr.Forbidden:
		return "forbidden"
	case apperr.TooManyRequests:
		return "limited"
	case apperr.Unavailable:
		return "unavailable"
	case apperr.DeadlineExceeded:
		return "timeout"
	case apperr.Canceled:
		return "canceled"
	}
	return "error"
}
