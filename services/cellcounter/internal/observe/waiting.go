package observe

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
)

// Waiting is a report that lacks the count of an observer.
type Waiting struct {
	ReportID, TestID int64
	TestName         string
	SampleID         string
	LabBillID        int64 // 0: no bill
	Patient          worklist.Patient
	Missing          int // number of the observer whose count is missing; 1 if both are
	// CountedBy is the person who made the other observer's count, at CountedAt; the zero Actor if there is none.
	CountedBy authn.Actor
	CountedAt int64 // epoch seconds; 0 if there is no other count
}

// IsCountedBy reports whether the other count may be by this person, who then cannot be the missing observer.
func (w Waiting) IsCountedBy(a authn.Actor) bool { return w.CountedAt != 0 && isSame(w.CountedBy, a) }

// Waiting returns a page of the reports that wait for a count, the newest first.
func (c *Counter) Waiting(
	ctx context.Context, s sight.Sight, p worklist.Page,
) (worklist.List[Waiting], error) {
	return c.store.Waiting(ctx, s, p)
}
