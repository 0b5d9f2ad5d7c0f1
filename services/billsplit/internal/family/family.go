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

	MergedAt int64 // epoch milliseconds; 0: it was not undone
	// Old is set in a record of version 1.0, which lacks the payer of the new bill and what patients pay of its tests.
	Old bool
}

// Member is one bill of a family.
type Member struct {
	Bill   bill.Bill
	Tests  []Test  // its rows now
	Origin *Record // the split that made it; nil for the root
}

// Test is a row of a bill with what people call it.
type Test struct {
	bill.Row

	Name string // "" when the list of tests does not have it
}

// Family is a bill with all that was split from it.
type Family struct {
	Members []Member // by id: the root is first
	Sum     bill.Amounts
}

// Reader reads families.
type Reader interface {
	// Family returns the members of the laboratory's family to which the bill belongs, by id; none when there is no
	// such bill.
	Family(ctx context.Context, lab authn.LabScope, billID int64) ([]Member, error)
	// Today returns the bills of the day of now, in the laboratory's time zone, that can be split under these rules.
	Today(ctx context.Context, s sight.Sight, now time.Time, p worklist.Page, r split.Rules) (Today, error)
}

// ErrNoBill reports that the laboratory has no such bill.
var ErrNoBill = apperr.New(apperr.NotFound, bill.NotFound, bill.BillNotFound.Message)

// Observer is told what happened.
type Observer interface {
	// Merged is told of each split that was undone.
	Merged()
	split.Timer
}

// The operations in metrics.
const (
	modeView  = "family"
	modeMerge = "merge"
	modeToday = "today"
)

// Modes lists them.
func Modes() []string { return []string{modeView, modeMerge, modeToday} }

// Viewer shows families.
type Viewer struct {
	reader   Reader
	clock    clock.Clock
	observer Observer
	rules    split.Rules
}

// NewViewer returns a Viewer. rules are those of splits.
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
