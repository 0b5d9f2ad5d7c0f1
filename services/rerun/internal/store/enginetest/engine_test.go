package enginetest_test

import (
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/enginetest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

func TestTheStoresOnEnginesConform(t *testing.T) {
	t.Parallel()
	storetest.RunBackend(t, enginetest.Open)
}

// TestACrashIsRepairedOnEngines plays the operations that write to every store; all of them with LAB_LONG_TESTS=1.
func TestACrashIsRepairedOnEngines(t *testing.T) {
	t.Parallel()
	operations := []string{"request", "new, the last part", "confirm"}
	if engine.Setting("LAB_LONG_TESTS") != "" {
		operations = nil
	}
	storetest.CrashTables(t, enginetest.Open, operations...)
}

// TestNoCompletionIsLostOnEngines sends the two halves of a request at once, again and again.
func TestNoCompletionIsLostOnEngines(t *testing.T) {
	t.Parallel()
	b := storetest.NewBenchOn(t, enginetest.Open)
	cases := b.Cases(nil)
	for id := int64(20_000); id < 20_010; id++ {
		b.Fixture.Put(storetest.Row(id))
		if err := storetest.Ask(1, 3)(b, cases, id); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for _, half := range []string{"1=13.5", "3=4.2", "1=13.5", "3=4.2"} {
			wait.Go(func() {
				if err := storetest.Say(1, half)(b, cases, id); err != nil {
					t.Errorf("report %d: %v", id, err)
				}
			})
		}
		wait.Wait()
		if s := b.State(id); s.Flag != rerun.Fulfilled || len(s.Values) != 2 {
			t.Fatalf("report %d: %+v", id, s)
		}
	}
}
