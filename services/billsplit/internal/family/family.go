package family

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// Record is a split as it is stored.
type Record struct {
	split.Record

	MergedAt int64 // epoch milliseconds; 0 if it was not undone
	// Old is set in a record of version 1.0, which lacks the payer of the new bill and what patients pay for its tests.
	Old bool
}

// Member is one bill of a family.
type Member struct {
	Bill   bill.Bill
	Tests  []Test  // present tests of the bill
	Origin *Record // split that created the bill; nil for the root
}

// Test is a billed test with its name.
type Test struct {
	bill.Row

	Name string // "" when the list of tests does not have it
}

// Family is a bill with all bills that were split from it.
type Family struct {
	Members []Member // sorted by id; the root is first
	Sum     bill.Amounts
}

// Reader reads families.
type Reader interface {
	// Family returns the members of the family to which the laboratory's bill belongs, by id. It returns none if there is
	// no such bill.
	Family(ctx context.Context, lab authn.LabScope, billID int64) ([]Member, error)
	// Today returns the bills of the day of now, in the laboratory's time zone, that these rules allow to be split.
	Today(ctx context.Context, s sight.Sight, now time.Time, p worklist.Page, r split.Rules) (Today, error)
}

// ErrNoBill is returned if the laboratory has no such bill.
var ErrNoBill = apperr.New(apperr.NotFound, bill.NotFound, bill.BillNotFound.Message)

// Observer receives events for metrics.
type Observer interface {
	// Merged is called for each split that was undone.
	Merged()
	split.Timer
}

// Operations, as metrics name them.
const (
	modeView  = "family"
	modeMerge = "merge"
	modeToday = "today"
)

// Modes returns all operations.
func Modes() []string { return []string{modeView, modeMerge, modeToday} }

// Viewer shows families of bills.
type Viewer struct {
	reader   Reader
	clock    clock.Clock
	observer Observer
	rules    split.Rules
}

// NewViewer returns a Viewer. rules are the rules of splits.
func NewViewer(r Reader, c clock.Clock, o Observer, rules split.Rules) *Viewer {
	return &Viewer{r, c, o, rules}
}

// View returns the family of a bill, which may be any of its members.
func (v *Viewer) View(ctx context.Context, lab authn.LabScope, billID int64) (Family, error) {
	defer split.Timed(v.clock, v.observer, modeView)()
	members, err := v.reader.Family(ctx, lab, billID)
	if err != nil {
		return Family{}, err
	}
	if len(members) == 0 {
		return Family{}, ErrNoBill
	}
	f := Family{Members: members, Sum: members[0].Bill.Amounts}
	for _, m := range members[1:] {
		f.Sum = f.Sum.Plus(m.Bill.Amounts)
	}
	return f, nil
}
