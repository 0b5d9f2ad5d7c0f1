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

// counting is a fake store with one list. Its reads are slow and counted.
type counting struct {
	worklist.Store
	lists atomic.Int64
}

func (s *counting) Waiting(
	context.Context, authn.LabScope, callout.Visibility, int,
) ([]worklist.Item, callout.Formats, error) {
	n := s.lists.Add(1)
	time.Sleep(time.Second)
	return make([]worklist.Item, n), nil, nil
}

func (*counting) Unclear(
	context.Context, authn.LabScope, callout.Visibility, time.Time, int,
) ([]worklist.Unclear, callout.Formats, error) {
	return nil, nil, nil
}

func (*counting) Corrected(context.Context, authn.LabScope, callout.Visibility, time.Time, int) ([]worklist.Corrected, error) {
	return nil, nil
}

func (*counting) State(context.Context, authn.LabScope, callout.Visibility) (worklist.State, error) {
	return worklist.State{Zone: time.UTC}, nil
}

// TestFiftyBoardsShareTwoReads checks that fifty boards cause two reads, that no board gets a list older than its
// request, and that boards with different visibility do not share reads.
func TestFiftyBoardsShareTwoReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &counting{}
		list := worklist.New(store, storetest.NewClock())
		var all sync.WaitGroup
		look := func(v callout.Visibility, want int) {
			all.Go(func() {
				o, err := list.Open(t.Context(), storetest.Lab(t, 12), v)
				if err != nil || len(o.Items) != want {
					t.Errorf("list %d, %v, want list %d", len(o.Items), err, want)
				}
			})
			synctest.Wait()
		}
		look(storetest.Everything, 1)
		for range 49 {
			look(storetest.Everything, 3)
		}
		look(callout.Visibility{Rule: callout.DoctorBills, PersonID: 302}, 2)
		all.Wait()
		if n := store.lists.Load(); n != 3 {
			t.Errorf("the store was read %d times, want 3", n)
		}
	})
}
