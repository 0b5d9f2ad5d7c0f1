// Package worklist provides the board of a laboratory: critical results that have to be called, and figures about how
// quickly callouts are made.
package worklist

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/coalesce"
	"github.com/labplatform/labplatform/pkg/lab/labtime"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/claim"
)

// Most is the maximum number of listed waiting reports.
const Most = 500

// Item is a report that waits for a callout. Unknown names are empty.
type Item struct {
	Report       callout.Report
	LabBillID    int64
	Patient      string
	PatientID    string // the patient's number in the laboratory
	Organization string
	Referral     string
	DetectedAt   time.Time
	DueAt        time.Time // time of the next escalation; zero: none follows
	Level        int
	RemindAt     time.Time // time of the next reminder after the last escalation; zero: none
	NoticesOff   bool      // a notice about the report did not reach any device
	Critical     []callout.Parameter
	Wait         *callout.Episode
	Claim        claim.Claim // the zero Claim if no one is calling
}

// Unclear is a report with values that are not comparable with their critical limits.
type Unclear struct {
	Report    callout.Report
	LabBillID int64
	Since     time.Time
	Values    []callout.Parameter
}

// Corrected is a report with a communicated value that was wrong.
type Corrected struct {
	ReportID, BillID, LabBillID int64
	Test                        callout.Test
	Patient                     string
	PatientID                   string // the patient's number in the laboratory
	Organization                string
	Referral                    string
	Was                         []callout.Parameter // the values as communicated
	ToldAt                      time.Time           // when the correction was recorded
	CalledAt                    time.Time           // time of the last callout after ToldAt; zero if there is none
	Persons                     []string            // the persons who heard the value
	Sent                        bool                // false while its notice could not be sent
}

// CorrectedWithin is how long corrections are listed. MaxCorrected is their maximum number in a list.
const (
	CorrectedWithin = 72 * time.Hour
	MaxCorrected    = 100
)

// UnclearWithin is how long unclear values are listed. MaxUnclear is the maximum number of reports in the list.
const (
	UnclearWithin = 72 * time.Hour
	MaxUnclear    = 100
)

// Unconfirmed is a report with unconfirmed critical rerun values.
type Unconfirmed struct {
	Report     callout.Report
	LabBillID  int64
	PatientID  string // the patient's number in the laboratory
	ReceivedAt time.Time
	Values     []callout.Parameter
}

// MaxUnconfirmed is the maximum number of listed reports with unconfirmed values.
const MaxUnconfirmed = 100

// Off states why notices cannot be sent and since when.
type Off struct {
	Reason string // empty if they can be sent
	Since  time.Time
}

// Open is the worklist at time Now.
type Open struct {
	Items        []Item
	Unclear      []Unclear
	Corrected    []Corrected
	Unconfirmed  []Unconfirmed
	Now          time.Time
	LimitReached bool
	// UnclearLimit and CorrectedLimit are set if a list was cut at its limit.
	UnclearLimit, CorrectedLimit bool
	Elsewhere                    int64 // waiting reports in departments that the reader may not see
	Off                          Off
	// QuietSince is when the last wait ended; zero while a report waits, or if there was never a wait.
	QuietSince time.Time
	Zone       *time.Location // the time zone of the laboratory
}

// Figures are the present numbers of waiting reports, and the times to callout in a window.
type Figures struct {
	Open, Overdue int64
	Elsewhere     int64
	Called        []time.Duration // for each called result, the time from detection to callout
	Limit         time.Duration
}

// Summary holds the figures of a laboratory about its callouts.
type Summary struct {
	Open, Overdue, Called, InTime, Elsewhere int64
	Median, P90                              *float64 // minutes; nil without callouts
	Limit                                    time.Duration
}

// Store reads the worklist.
type Store interface {
	// Waiting returns the waiting reports and the formats of their tests. Reports after their last escalation come first,
	// then the others by deadline.
	Waiting(ctx context.Context, scope authn.LabScope, v callout.Visibility, most int) ([]Item, callout.Formats, error)
	// Unclear returns the reports with an unclear value, the newest first, and the formats of their tests.
	Unclear(
		ctx context.Context, scope authn.LabScope, v callout.Visibility, after time.Time, most int,
	) ([]Unclear, callout.Formats, error)
	// Corrected returns the reports with a communicated value that was wrong, the latest first. A value about which a
	// notice, a call or an attempt followed is omitted.
	Corrected(
		ctx context.Context, scope authn.LabScope, v callout.Visibility, after time.Time, most int,
	) ([]Corrected, error)
	// State returns the parts of the worklist that the other methods do not cover.
	State(ctx context.Context, scope authn.LabScope, v callout.Visibility) (State, error)
	// Figures counts the reports that wait now, and reads the times to callout of results that were detected in [from,
	// to). For a referring doctor, it includes only results of the doctor's own bills.
	Figures(ctx context.Context, scope authn.LabScope, v callout.Visibility, from, to, now time.Time) (Figures, error)
	// Zone returns the laboratory's time zone, which defines the days of a summary's window.
	Zone(ctx context.Context, scope authn.LabScope) (*time.Location, error)
}

// State holds the parts of a worklist that Waiting, Unclear and Corrected do not return.
type State struct {
	Unconfirmed []Unconfirmed // already judged; only critical values
	LastClosed  time.Time     // when the last of the 200 newest waits ended; zero if there are none
	Elsewhere   int64
	Off         Off
	Zone        *time.Location
}

// UseCase reads the worklist. Its methods may be called from several goroutines.
type UseCase struct {
	store  Store
	clock  clock.Clock
	recent recentSummaries
	// lists and summaries coalesce concurrent reads. A change wakes all boards of a laboratory at once. Boards with the
	// same visibility share one read, because a list has hundreds of reports with their values.
	lists     coalesce.Reads[sameList, struct{}, Open]
	summaries coalesce.Reads[sameSummary, struct{}, Summary]
}

// sameList identifies users with the same list.
type sameList struct {
	labID int64
	sees  string
}

// sameSummary identifies users with the same figures of a window.
type sameSummary struct {
	sameList
	from, to string
}

// New returns a use case that reads from s.
func New(s Store, c clock.Clock) *UseCase { return &UseCase{store: s, clock: c} }

// Open returns the visible worklist. A report whose values are no longer critical stays in the list until it is
// evaluated. The result is shared and must not be changed.
func (u *UseCase) Open(ctx context.Context, scope authn.LabScope, v callout.Visibility) (Open, error) {
	same := sameList{scope.LabID(), fmt.Sprint(v)}
	return u.lists.Do(ctx, same, struct{}{}, func(ctx context.Context, _ []struct{}) (Open, error) {
		return u.open(ctx, scope, v)
	})
}

func (u *UseCase) open(ctx context.Context, scope authn.LabScope, v callout.Visibility) (Open, error) {
	items, formats, err := u.store.Waiting(ctx, scope, v, Most+1)
	if err != nil {
		return Open{}, err
	}
	o := Open{Items: items[:min(len(items), Most)], Now: u.clock.Now(), LimitReached: len(items) > Most}
	for i := range o.Items {
		item := &o.Items[i]
		finding := callout.Judge(item.Report.Chart, formats)
		item.Critical = finding.Shown(item.Wait)
	}
	state, err := u.store.State(ctx, scope, v)
	if err != nil {
		return Open{}, err
	}
	o.Unconfirmed, o.Elsewhere, o.Off, o.Zone = state.Unconfirmed, state.Elsewhere, state.Off, state.Zone
	if len(items) == 0 {
		o.QuietSince = state.LastClosed
	}
	if err := u.unclear(ctx, scope, v, &o); err != nil {
		return Open{}, err
	}
	corrected, err := u.store.Corrected(ctx, scope, v, o.Now.Add(-CorrectedWithin), MaxCorrected+1)
	o.Corrected, o.CorrectedLimit = corrected[:min(len(corrected), MaxCorrected)], len(corrected) > MaxCorrected
	return o, err
}

func (u *UseCase) unclear(ctx context.Context, scope authn.LabScope, v callout.Visibility, o *Open) error {
	found, formats, err := u.store.Unclear(ctx, scope, v, o.Now.Add(-UnclearWithin), MaxUnclear+1)
	if err != nil {
		return err
	}
	o.Unclear, o.UnclearLimit = []Unclear{}, len(found) > MaxUnclear
	for _, one := range found[:min(len(found), MaxUnclear)] {
		if one.Values = callout.Judge(one.Report.Chart, formats).Unclear; len(one.Values) > 0 {
			o.Unclear = append(o.Unclear, one)
		}
	}
	return nil
}

// defaultWindow is the window of a summary if the request has no from.
const defaultWindow = 30 * 24 * time.Hour

// Summary counts the results detected between from and to, which are ISO 8601 or empty. If to is a date, the whole day
// is included.
func (u *UseCase) Summary(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, from, to string,
) (Summary, error) {
	same := sameSummary{sameList{scope.LabID(), fmt.Sprint(v)}, from, to}
	return u.summaries.Do(ctx, same, struct{}{}, func(ctx context.Context, _ []struct{}) (Summary, error) {
		return u.summary(ctx, scope, v, from, to)
	})
}

func (u *UseCase) summary(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, from, to string,
) (Summary, error) {
	zone, err := u.store.Zone(ctx, scope)
	if err != nil {
		return Summary{}, err
	}
	now := u.clock.Now()
	begin, end, err := window(from, to, zone, now)
	if err != nil {
		return Summary{}, err
	}
	f, err := u.store.Figures(ctx, scope, v, begin, end, now)
	if err != nil {
		return Summary{}, err
	}
	return summarize(f), nil
}

// Recent returns the summary of the last 30 days. It is at most RecentFor old and shared by boards with the same
// visibility.
func (u *UseCase) Recent(ctx context.Context, scope authn.LabScope, v callout.Visibility) (Summary, error) {
	key, now := recentKey{scope.LabID(), fmt.Sprint(v)}, u.clock.Now()
	if s, ok := u.recent.find(key, now); ok {
		return s, nil
	}
	s, err := u.Summary(ctx, scope, v, "", "")
	if err == nil {
		u.recent.keep(key, s, now)
	}
	return s, err
}

func summarize(f Figures) Summary {
	s := Summary{Open: f.Open, Overdue: f.Overdue, Elsewhere: f.Elsewhere, Called: int64(len(f.Called)), Limit: f.Limit}
	slices.Sort(f.Called)
	for _, d := range f.Called {
		if d <= f.Limit {
			s.InTime++
		}
	}
	s.Median, s.P90 = quantile(f.Called, 50), quantile(f.Called, 90)
	return s
}

// quantile returns the smallest of the sorted values that at least percent % of them do not exceed, in minutes with one
// decimal; nil if there are none.
func quantile(sorted []time.Duration, percent int) *float64 {
	if len(sorted) == 0 {
		return nil
	}
	at := (len(sorted)*percent + 99) / 100
	minutes := float64(sorted[at-1].Round(6*time.Second)/(6*time.Second)) / 10
	return &minutes
}

// window parses both ends of a window. end is exclusive; a date includes its whole day.
func window(from, to string, zone *time.Location, now time.Time) (begin, end time.Time, err error) {
	end = now.Add(time.Second)
	if to != "" {
		_, last, ok := labtime.Parse(to, zone)
		if !ok {
			return begin, end, notADate("to")
		}
		end = last.Add(time.Second)
	}
	begin = end.Add(-defaultWindow)
	if from != "" {
		var ok bool
		if begin, _, ok = labtime.Parse(from, zone); !ok {
			return begin, end, notADate("from")
		}
	}
	if !begin.Before(end) {
		return begin, end, apperr.InvalidField("from", "from must be before to")
	}
	return begin, end, nil
}

func notADate(name string) error {
	return apperr.InvalidField(name, name+" must be an ISO date like 2026-11-20, or a time like 2026-11-20T10:00:00Z")
}
