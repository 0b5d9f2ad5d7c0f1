// Package records owns what a person sees of a bill: its critical reports with their critical values, and the draft.
package records

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// View is everything of a bill that someone may see.
type View struct {
	// Reports are not dismissed, their sample is collected and their state is pending, attempted or done; by id.
	Reports []callout.Report
	Formats callout.Formats
	Opened  map[int64][]callout.Parameter // what reports that wait waited for first
	Draft   *callout.Draft                // nil: none
}

// Store reads bills.
type Store interface {
	// View returns the visible part of a bill in a number of queries that does not depend on the bill. A bill that the
	// laboratory does not have is callout.ErrNoBill.
	View(ctx context.Context, scope authn.LabScope, billID int64, v callout.Visibility) (View, error)
}

// Record is a report with what is critical about it.
type Record struct {
	Report   callout.Report
	Critical []callout.Parameter
}

// List is a bill's critical records.
type List struct {
	Records []Record
	Draft   *callout.Draft
}

// UseCase lists critical records.
type UseCase struct{ store Store }

// New returns the use case.
func New(s Store) *UseCase { return &UseCase{s} }

// List judges all reports of the bill at once and leaves out those without a critical value, but for those that wait.
func (u *UseCase) List(ctx context.Context, scope authn.LabScope, billID int64, v callout.Visibility) (List, error) {
	view, err := u.store.View(ctx, scope, billID, v)
	if err != nil {
		return List{}, err
	}
	var l List
	for _, r := range view.Reports {
		if shown := callout.Judge(r.Chart, view.Formats).Shown(view.Opened[r.ID]); len(shown) > 0 {
			l.Records = append(l.Records, Record{r, shown})
		}
	}
	if view.Draft != nil {
		if d, ok := view.Draft.For(v, view.Reports); ok {
			l.Draft = &d
		}
	}
	return l, nil
}
