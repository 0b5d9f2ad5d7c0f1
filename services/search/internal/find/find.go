// Package find owns the search of patients: who may search, how often and at what cost, and what is counted of it.
package find

import (
	"context"
	"errors"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// Limiter admits searches.
type Limiter interface {
	// Admit tells what the search may cost, or is TooManyRequests.
	Admit(ctx context.Context, p authn.Principal, lab authn.LabScope) (search.Effort, error)
}

// Index finds patients. It must never find one outside the scope.
type Index interface {
	Search(ctx context.Context, scope search.Scope, q search.Query, effort search.Effort) (search.Result, error)
}

// leastSize is the largest page while every search must be cheap.
const leastSize = 10

// Deps is what the use case works with.
type Deps struct {
	Limiter     Limiter
	Index       Index
	DefaultSize int // hits of a page that asks for none
	Clock       clock.Clock
	Metrics     *Metrics
}

// UseCase searches.
type UseCase struct{ d Deps }

// New returns the use case.
func New(d Deps) *UseCase { return &UseCase{d: d} }

// Command is what a caller asks. LabID is the laboratory that the request names, 0 when it names none.
type Command struct {
	search.Request

	LabID int64
}

// Answer is what was found, for what, and at what effort.
type Answer struct {
	search.Result

	Query  search.Query
	Effort search.Effort
}

// Search finds patients that p may see. Errors: Invalid, Forbidden, TooManyRequests, and those of the index.
func (u *UseCase) Search(ctx context.Context, p authn.Principal, c Command) (Answer, error) {
	answer, err := u.search(ctx, p, c)
	u.d.Metrics.finished(search.Key(c.Key), answer, err)
	return answer, err
}

// errReferring is for logins whose patients the index does not know: it has no doctors of bills.
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
	return a, err
}

// query checks the request. With the least effort pages are small, and counted in small pages.
func (u *UseCase) query(r search.Request, effort search.Effort) (search.Query, error) {
	q, err := search.NewQuery(r, u.d.DefaultSize)
	if err != nil || effort != search.Least || q.Size <= leastSize {
		return q, err
	}
	size := leastSize
	r.Size = &size
	return search.NewQuery(r, u.d.DefaultSize)
}

// outcome names how a search ended, for the metrics.
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
