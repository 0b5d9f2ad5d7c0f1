package worklist_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/store/storetest"
	"github.com/labplatform/labplatform/services/callout/internal/worklist"
)

// slow is a store whose answers take a second.
type slow struct {
	worklist.Store

	lists atomic.Int64
}

func (s *slow) Waiting(
	ctx context.Context, scope authn.LabScope, v callout.Visibility, most int,
) ([]worklist.Item, callout.Formats, error) {
	s.lists.Add(1)
	defer time.Sleep(time.Second)
	return s.Store.Waiting(ctx, scope, v, most)
}

// TestFiftyBoardsThatWakeAtOnceAreTwoLooks and no board gets a list from before it asked; who sees others shares
// nothing.
func TestFiftyBoardsThatWakeAtOnceAreTwoLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := storetest.NewClock()
		backend := storetest.Memory(t, c)
		b := storetest.NewFixture(t, backend, c)
		store := &slow{Store: backend.Reader}
		list := worklist.New(store, c)
		var all sync.WaitGroup
		look := func(v callout.Visibility, want int) {
			all.Go(func() {
				o, err := list.Open(t.Context(), storetest.Lab(t, 12), v)
				b.Must(err)
				b.Want("waiting", len(o.Items), want)
			})
			synctest.Wait()
		}
		look(storetest.Everything, 0)
		b.Pending()
		for range 49 {
			look(storetest.Everything, 1)
		}
		look(callout.Visibility{Rule: callout.DoctorBills, PersonID: 302}, 0)
		all.Wait()
		b.Want("looks", store.lists.Load(), int64(3))
	})
}
