package supervise_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
)

func TestHealthyConnectorsAreLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.watch(t, time.Hour)
		if len(b.worker.requests) > 0 || len(b.journal.records) > 0 || !b.journal.up[existing] || !b.journal.up[projection] {
			t.Fatalf("requests %v, journal %+v", b.worker.requests, b.journal)
		}
	})
}

func TestAFailedTaskIsRestartedWithGrowingPausesAndRecordedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.fail(existing)
		b.watch(t, 5*time.Minute)
		want := []string{"0s", "10s", "30s", "1m10s", "2m10s", "3m10s", "4m10s"}
		if diff := cmp.Diff(want, b.restarts()); diff != "" {
			t.Error(diff)
		}
		if want := "0s POST /connectors/source-existing/restart?includeTasks=true&onlyFailed=true"; b.worker.requests[0] != want {
			t.Errorf("request %q", b.worker.requests[0])
		}
		if len(b.journal.records) != 1 || !strings.HasPrefix(b.journal.records[0], existing+"/0 "+trace) || !strings.Contains(b.journal.records[0], "binlog.000001") {
			t.Errorf("records %q", b.journal.records)
		}
		if b.journal.up[existing] || !b.journal.up[projection] || b.journal.restarted[existing] != len(want) {
			t.Errorf("journal %+v", b.journal)
		}
		if diff := cmp.Diff(map[int]string{0: connect.Failed}, b.journal.tasks[existing]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestALogNamesTheCausesAndQuotesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.fail(existing)
		b.watch(t, time.Minute)
		log := b.log.String()
		if !strings.Contains(log, "ConnectException < SQLException") || strings.Contains(log, "Asha") {
			t.Fatalf("log:\n%s", log)
		}
		if n := strings.Count(log, "is not up"); n != 1 {
			t.Fatalf("the same state is logged %d times:\n%s", n, log)
		}
	})
}

func TestAShortRecoveryIsTheSameCaseALongOneEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.fail(existing)
		b.watch(t, 15*time.Second) // restarts at 0 and 10 s
		b.worker.heal(existing)
		b.watch(t, time.Minute)
		b.worker.fail(existing)
		b.watch(t, 5*time.Second) // at 75 s the third restart is overdue
		if len(b.journal.records) != 1 || len(b.worker.requests) != 3 {
			t.Fatalf("after a short recovery: %d records, %v", len(b.journal.records), b.restarts())
		}
		b.worker.heal(existing)
		b.watch(t, 3*time.Minute)
		b.worker.fail(existing)
		b.watch(t, 15*time.Second)
		if len(b.journal.records) != 2 || len(b.worker.requests) != 5 {
			t.Fatalf("after a long recovery: %d records, %v", len(b.journal.records), b.restarts())
		}
	})
}

func TestWhatAnOperatorStoppedPausedOrDeletedStaysThatWay(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(*worker){
		"stopped": func(w *worker) { w.connectors[existing].state, w.connectors[existing].tasks = connect.Stopped, nil },
		"paused": func(w *worker) {
			w.connectors[existing].state, w.connectors[existing].tasks = connect.Paused, []string{connect.Paused}
		},
		"stopped with a task that failed on the way": func(w *worker) { w.fail(existing); w.connectors[existing].state = connect.Stopped },
		"deleted": func(w *worker) { delete(w.connectors, existing) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newFixture()
				hold(b.worker)
				b.watch(t, time.Hour)
				if len(b.worker.requests) > 0 || len(b.journal.records) > 0 {
					t.Fatalf("requests %v, records %v", b.worker.requests, b.journal.records)
				}
				if b.journal.up[existing] {
					t.Fatal("counts as up")
				}
			})
		})
	}
}

func TestAStopEndsACase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.fail(existing)
		b.watch(t, 25*time.Second)
		b.worker.connectors[existing].state, b.worker.connectors[existing].tasks = connect.Stopped, nil
		b.watch(t, 5*time.Second)
		b.worker.connectors[existing].state = connect.Running
		b.worker.fail(existing)
		b.watch(t, time.Second)
		if got := b.restarts(); len(b.journal.records) != 2 || got[len(got)-1] != "30s" {
			t.Fatalf("%d records, restarts %v", len(b.journal.records), got)
		}
	})
}

func TestAConnectorThatFailedItselfIsRestarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.connectors[projection].state, b.worker.connectors[projection].tasks, b.worker.connectors[projection].trace = connect.Failed, nil, trace
		b.worker.onRestart = func(c *connector) { c.state, c.tasks = connect.Running, []string{connect.Running} }
		b.watch(t, 5*time.Minute)
		if len(b.worker.requests) != 1 || len(b.journal.records) != 1 || !strings.HasPrefix(b.journal.records[0], projection+"/-1 ") || !b.journal.up[projection] {
			t.Fatalf("requests %v, records %v", b.worker.requests, b.journal.records)
		}
	})
}

func TestAConnectorWithoutTasksIsRestartedAfterAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.connectors[existing].tasks = nil
		b.worker.onRestart = func(c *connector) { c.tasks = []string{connect.Running} }
		b.watch(t, 10*time.Minute)
		want := []string{"1m0s POST /connectors/source-existing/restart?includeTasks=true&onlyFailed=false"}
		if diff := cmp.Diff(want, b.worker.requests); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAFailureLogThatIsAwayDelaysNoRestartAndGetsItsRecordLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.fail(existing)
		b.journal.away = errors.New("no brokers")
		for range 3 {
			if err := b.RunOnce(t.Context()); err == nil {
				t.Fatal("the failure log's error is not reported")
			}
		}
		if len(b.worker.requests) != 1 {
			t.Fatalf("restarts %v", b.restarts())
		}
		b.journal.away = nil
		b.worker.connectors[existing].trace = "another.Trace: of the second failure"
		b.watch(t, time.Minute)
		if len(b.journal.records) != 1 || !strings.Contains(b.journal.records[0], "SQLException") {
			t.Fatalf("records %v", b.journal.records)
		}
	})
}

func TestNothingIsUpWhileTheRuntimeIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.watch(t, time.Second)
		b.worker.away = true
		if err := b.RunOnce(t.Context()); err == nil || b.journal.up[existing] || b.journal.up[projection] {
			t.Fatalf("%v, %v", err, b.journal.up)
		}
		if err := b.Observe(t.Context()); err == nil {
			t.Fatal("no error")
		}
		b.worker.away = false
		b.watch(t, time.Minute)
		if len(b.worker.requests) > 0 || !b.journal.up[existing] {
			t.Fatalf("requests %v, up %v", b.worker.requests, b.journal.up)
		}
	})
}

func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture()
		b.worker.fail(existing)
		if err := b.Observe(t.Context()); err != nil || len(b.worker.requests) > 0 || b.journal.up[existing] {
			t.Fatalf("%v, requests %v", err, b.worker.requests)
		}
	})
}
