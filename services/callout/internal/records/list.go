// Package records lists the critical reports of a bill with their critical values, the attempts, and the suppressed
// calls.
package records

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
)

// View is the visible part of a bill.
type View struct {
	// Reports are sorted by id. They are not dismissed, their sample was collected, and they are pending, attempted, done,
	// or have a suppressed call.
	Reports []callout.Report
	Formats callout.Formats
	Waits   map[int64]callout.Episode // open waits by report id
	Ledgers map[int64]callout.Ledger
	Draft   *callout.Draft // the stored draft, which another program may have written; nil if there is none
}

// Store reads bills.
type Store interface {
	// View returns the visible part of a bill. The number of queries is independent of the size of the bill. It returns
	// callout.ErrNoBill if the laboratory does not have the bill.
	View(ctx context.Context, scope authn.LabScope, billID int64, v callout.Visibility) (View, error)
}

// Record is a report with its critical values.
type Record struct {
	Report   callout.Report
	Critical []callout.Parameter
}

// Suppressed is a report whose critical values need not be called because of the repeat policy.
type Suppressed struct {
	Record
	Reason   string
	CalledAt time.Time // when the earlier call was made on which the suppression is based
}

// Attempt is the newest attempt of a report whose status is attempted.
type Attempt struct {
	ReportID int64
	callout.Record
	At time.Time
}

// List is the result of UseCase.List.
type List struct {
	Records    []Record
	Draft      *callout.Draft // the newest attempt; nil if there is none
	Attempts   []Attempt
	Suppressed []Suppressed
}

// UseCase lists critical records.
type UseCase struct{ store Store }

// New returns a use case that reads from s.
func New(s Store) *UseCase { return &UseCase{s} }

// List judges the visible reports of the bill, and returns the ones that wait, that were called and have critical
// values, or whose call is suppressed.
func (u *UseCase) List(ctx context.Context, scope authn.LabScope, billID int64, v callout.Visibility) (List, error) {
	view, err := u.store.View(ctx, scope, billID, v)
	if err != nil {
		return List{}, err
	}
	var l List
	for i := range view.Reports {
		l.add(&view.Reports[i], &view)
	}
	if d := l.draft(&view); d != nil {
		if shown, ok := d.For(v, view.Reports); ok {
			l.Draft = &shown
		}
	}
	for i := range l.Attempts { // an attempt may include reports of departments that the user may not see
		l.Attempts[i].ValuesMeta = callout.Only(l.Attempts[i].ValuesMeta, view.Reports)
	}
	return l, nil
}

func (l *List) add(r *callout.Report, view *View) {
	finding, ledger := callout.Judge(r.Chart, view.Formats), view.Ledgers[r.ID]
	if !r.Status.Open() && r.Status != callout.Done {
		if values, s := ledger.Suppressed(finding.Critical); len(values) > 0 {
			l.Suppressed = append(l.Suppressed, Suppressed{Record{*r, values}, s.Reason, s.ToldAt})
		}
		return
	}
	var wait *callout.Episode
	if w, ok := view.Waits[r.ID]; ok {
		wait = &w
	}
	if shown := finding.Shown(wait); len(shown) > 0 {
		l.Records = append(l.Records, Record{*r, shown})
	}
	if s := ledger.NewestAttempt(); r.Status == callout.Attempted && s != nil && s.Record != nil {
		l.Attempts = append(l.Attempts, Attempt{r.ID, *s.Record, s.SaidAt})
	}
}

// draft returns the newest attempt in the reports' ledgers or, if it is newer or they have none, the stored draft of
// the bill. It returns nil if there is neither, or if the draft is about other reports only.
func (l *List) draft(view *View) *callout.Draft {
	var newest *Attempt
	for i := range l.Attempts {
		if newest == nil || l.Attempts[i].At.After(newest.At) {
			newest = &l.Attempts[i]
		}
	}
	if newest == nil || view.Draft != nil && view.Draft.At.After(newest.At.Add(time.Second)) {
		if view.Draft == nil || !view.Draft.Concerns(view.Reports) {
			return nil
		}
		return view.Draft
	}
	return &callout.Draft{
		Recipients: newest.Recipients, Comment: newest.Comment, At: newest.At,
		ValuesMeta: callout.Object(newest.ValuesMeta), CalloutMeta: callout.Object(newest.CalloutMeta),
	}
}
