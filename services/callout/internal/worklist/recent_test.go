package worklist_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
)

// TestOpenBoardsShareTheirFigures checks that the boards of a laboratory share figures for two seconds. Doctors who see
// only their own bills have figures of their own.
func TestOpenBoardsShareTheirFigures(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	c := b.Clock
	open := func(lab int64, v callout.Visibility) int64 {
		t.Helper()
		s, err := b.Worklist.Recent(t.Context(), storetest.Lab(t, lab), v)
		b.Must(err)
		return s.Open
	}
	b.Want("at first", open(12, storetest.Everything), 0)
	b.Pending()
	b.Want("the same figures", open(12, storetest.Everything), 0)
	b.Want("the doctor's own", open(12, callout.Visibility{Rule: callout.DoctorBills, PersonID: 301}), 1)
	b.Want("another doctor's", open(12, callout.Visibility{Rule: callout.DoctorBills, PersonID: 302}), 0)
	b.Want("another laboratory's", open(13, storetest.Everything), 0)
	c.Advance(2 * time.Second)
	b.Want("two seconds later", open(12, storetest.Everything), 1)
	b.Want("a doctor's", open(12, callout.Visibility{Rule: callout.DoctorBills, PersonID: 302}), 0)
	b.Want("a user's of the same number, who sees no department", open(12, callout.Visibility{Rule: callout.UserDepartments, PersonID: 302}), 0)
}
