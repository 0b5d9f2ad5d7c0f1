package observe

import (
	"context"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
)

// Waiting is a report whose cells wait for the count of an observer.
type Waiting struct {
	ReportID, TestID int64
	TestName         string
	SampleID         string
	LabBillID        int64 // 0: no bill
	Patient          worklist.Patient
	Missing          int // the observer whose count is missing; 1 when both are
	// CountedBy is who counted as the other observer, at CountedAt; the zero Actor when no one did.
	CountedBy authn.Actor
	CountedAt int64 // epoch seconds; 0 when no one did
}

// IsCountedBy reports whether the other count may be of this person, who then cannot be the missing observer.
func (w Waiting) IsCountedBy(a authn.Actor) bool { return w.CountedAt != 0 && isSame(w.CountedBy, a) }

// Waiting returns a page of the reports that wait for a count, the newest first.
func (c *Counter) Waiting(
	ctx context.Context, s sight.Sight, p worklist.Page,
) (worklist.List[Waiting], error) {
	return c.store.Waiting(ctx, s, p)
}
