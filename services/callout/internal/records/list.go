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
	// Reports are sorted by id. They are not dismissed, their sample is collected, and they are pending, attempted, done,
	// or have a suppressed call.
	Reports []callout.Report
	Formats callout.Formats
	Waits   map[int64]callout.Episode // open ones, by report
	Ledgers map[int64]callout.Ledger
	Draft   *callout.Draft // the stored one, which another program may have written; nil: none
}

// Store reads bills.
type Store interface {
	// View returns the visible part of a bill in a number of queries that does not depend on the bill. A bill that the
	// laboratory does not have is callout.ErrNoBill.
	View(ctx context.Context, scope authn.LabScope, billID int64, v callout.Visibility) (View, error)
}

// Record is a report with its critical values.
type Record struct {
	Report   callout.Report
	Critical []callout.Parameter
}

// Suppressed is a report with critical values that need no call.
type Suppressed struct {
	Record
	Reason   string
	CalledAt time.Time // when the call that justifies it was made
}

// Attempt is the newest attempt of a report that is still attempted.
type Attempt struct {
	ReportID int64
	callout.Record
	At time.Time
}

// List is a bill's critical records.
type List struct {
	Records    []Record
	Draft      *callout.Draft // the newest attempt; nil: none
	Attempts   []Attempt
	Suppressed []Suppressed
}

// UseCase lists critical records.
type UseCase struct{ store Store }

// New returns the use case.
func New(s Store) *UseCase { return &UseCase{s} }

// List judges all reports of the bill. Reports without a critical value are left out, except waiting ones.
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
	for i := range l.Attempts { // an attempt may state reports that someone does not see
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

// draft returns the newest attempt: one that moved with its report from another bill, or the stored draft of the bill.
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
