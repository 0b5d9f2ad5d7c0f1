package supervise_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/connect"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

// applier wants what the caller may change in the map.
func applier(w *worker) (*supervise.Applier, map[string]map[string]string) {
	wanted := map[string]map[string]string{
		existing:   {"connector.class": "c", "database.password": "hunter22"},
		projection: {"connector.class": "c", "database.password": "hunter22"},
	}
	return &supervise.Applier{Runtime: w.client(), Order: []string{existing, projection}, Log: slog.New(slog.DiscardHandler),
		Wanted: func(context.Context) (map[string]map[string]string, error) { return wanted, nil }}, wanted
}

func TestConfigurationsAreMadeThenChangedThenLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorker()
	a, wanted := applier(w)
	var out bytes.Buffer
	for range 2 {
		if err := a.Apply(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
	}
	wanted[projection]["database.password"] = "changed"
	wanted[projection]["poll.interval.ms"] = "50"
	w.connectors[projection].state, w.connectors[projection].tasks = connect.Stopped, nil
	if err := a.Apply(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `source-existing: made
source-projection: made
source-existing: unchanged
source-projection: unchanged
source-existing: unchanged
source-projection: changed database.password, poll.interval.ms
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if len(w.requests) != 3 || w.connectors[projection].state != connect.Stopped {
		t.Errorf("requests %v, state %s", w.requests, w.connectors[projection].state)
	}
}

func TestASettingThatIsNoLongerWantedGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorker()
	a, _ := applier(w)
	if err := a.Apply(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	w.connectors[existing].configuration["left.over"] = "x"
	if err := a.Apply(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, still := w.connectors[existing].configuration["left.over"]; still || len(w.requests) != 3 {
		t.Fatalf("%v, requests %v", w.connectors[existing].configuration, w.requests)
	}
}

func TestARefusalIsReportedWithItsReason(t *testing.T) {
	t.Parallel()
	w := newWorker()
	w.refusal = "Connector configuration is invalid and contains the following 1 error(s):\nUnable to connect: Connection refused\n" +
		"You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
	var out bytes.Buffer
	a, _ := applier(w)
	err := a.Apply(t.Context(), &out)
	var invalid *connect.Invalid
	if !errors.As(err, &invalid) || !strings.Contains(out.String(), "source-projection: failed: configure source-projection: the configuration is refused: Unable to connect") {
		t.Fatalf("%v, said %s", err, out.String())
	}
}

func TestAtStartIsTriedUntilItSucceedsAndThenADeleteStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker()
		w.away = true
		done := make(chan error, 1)
		a, _ := applier(w)
		go func() { done <- a.Run(t.Context()) }()
		<-time.After(12 * time.Second)
		w.change(func() { w.away = false })
		if err := <-done; err != nil || len(w.connectors) != 2 {
			t.Fatalf("%v, %v", err, w.connectors)
		}
		delete(w.connectors, existing)
		b := &bench{worker: w, journal: newJournal()}
		b.Supervisor = supervise.New(supervise.Deps{Runtime: w.client(), Failures: b.journal, Observer: b.journal, Clock: clock.System{},
			Log: slog.New(slog.DiscardHandler), Connectors: []string{existing, projection}})
		b.watch(t, time.Hour)
		if _, back := w.connectors[existing]; back {
			t.Fatal("a deleted connector is back")
		}
	})
}

func TestAConnectorThatIsAppliedIsNotMadeAgainWhileTheOtherIsTried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker()
		a, wanted := applier(w)
		wanted[projection] = nil // null is refused
		done := make(chan error, 1)
		go func() { done <- a.Run(t.Context()) }()
		<-time.After(time.Second)
		w.change(func() { delete(w.connectors, existing) }) // by an operator
		<-time.After(time.Minute)
		w.change(func() {
			if _, back := w.connectors[existing]; back {
				t.Error("a deleted connector is back")
			}
		})
	})
}

func operator(w *worker, out io.Writer) *supervise.Operator {
	return &supervise.Operator{Runtime: w.client(), Connectors: []string{existing, projection}, Clock: clock.System{}, Out: out}
}

func TestTheTableSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	t.Parallel()
	w := newWorker(existing, projection)
	var out bytes.Buffer
	up, err := operator(w, &out).Status(t.Context())
	want := `CONNECTOR          UP   STATE    TASKS      WORKER          READ UP TO
source-existing    yes  RUNNING  0:RUNNING  127.0.0.1:8083  binlog.000001:10247, gtid 0-1-35, 2026-11-21T09:50:14Z
source-projection  yes  RUNNING  0:RUNNING  127.0.0.1:8083  binlog.000001:10247, gtid 0-1-35, 2026-11-21T09:50:14Z
`
	if diff := cmp.Diff(want, out.String()); err != nil || !up || diff != "" {
		t.Fatalf("%v, up %t\n%s", err, up, diff)
	}
	w.fail(existing)
	w.connectors[projection].state, w.connectors[projection].tasks = connect.Stopped, nil
	out.Reset()
	up, err = operator(w, &out).Status(t.Context())
	want = `CONNECTOR          UP  STATE    TASKS     WORKER          READ UP TO
source-existing    no  RUNNING  0:FAILED  127.0.0.1:8083  binlog.000001:10247, gtid 0-1-35, 2026-11-21T09:50:14Z
source-projection  no  STOPPED  none      127.0.0.1:8083  binlog.000001:10247, gtid 0-1-35, 2026-11-21T09:50:14Z
task 0 of source-existing failed: ConnectException < SQLException. It is restarted by itself, at least every 60 s; at once: cdc connectors restart source-existing. The whole trace is in cdc.connector-dlq
source-projection is STOPPED by an operator: cdc connectors resume source-projection
`
	if diff := cmp.Diff(want, out.String()); err != nil || up || diff != "" {
		t.Fatalf("%v, up %t\n%s", err, up, diff)
	}
	delete(w.connectors, existing)
	out.Reset()
	if up, err = operator(w, &out).Status(t.Context()); err != nil || up || !strings.Contains(out.String(), "cdc connectors apply makes it") {
		t.Fatalf("%v, up %t\n%s", err, up, out.String())
	}
}

func TestStopAndResumeWaitUntilItIsSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker(existing, projection)
		var out bytes.Buffer
		o := operator(w, &out)
		if err := o.Stop(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := o.Resume(t.Context(), []string{projection}); err != nil {
			t.Fatal(err)
		}
		want := `source-existing: stopping
source-projection: stopping
source-existing: stopped after 0.5 s
source-projection: stopped after 0.5 s
source-projection: resuming
source-projection: up after 0.5 s
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Fatal(diff)
		}
		if w.connectors[existing].state != connect.Stopped || w.connectors[projection].state != connect.Running {
			t.Fatalf("states %v", w.connectors)
		}
	})
}

func TestAResetForgetsThePositionWhileNothingRunsAndAfterAWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker(existing, projection)
		var out bytes.Buffer
		wrote := func(context.Context) error { w.requests = append(w.requests, "write"); return nil }
		if err := operator(w, &out).Reset(t.Context(), []string{projection}, wrote); err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, request := range w.requests {
			order = append(order, request[strings.LastIndexByte(request, ' ')+1:])
		}
		path := "/connectors/" + projection
		if diff := cmp.Diff([]string{path + "/stop", "write", path + "/offsets", path + "/resume"}, order); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(out.String(), projection+": forgot its position; all rows are sent again\n") {
			t.Error(out.String())
		}
		refuse := errors.New("the database is away")
		if err := operator(w, &out).Reset(t.Context(), []string{existing}, func(context.Context) error { return refuse }); !errors.Is(err, refuse) {
			t.Errorf("error %v", err)
		}
		if state := w.connectors[existing].state; state != connect.Stopped {
			t.Errorf("after a reset that broke off the connector is %s", state)
		}
	})
}

func TestALostPositionIsSaidWithItsRemedy(t *testing.T) {
	t.Parallel()
	for _, trace := range []string{
		"io.debezium.DebeziumException: The connector is trying to read change stream starting at X, but this is no longer available on the server. Reconfigure",
		"org.apache.kafka.connect.errors.ConnectException: stopped\nCaused by: java.lang.NullPointerException: Cannot invoke \"GtidSet.toString()\" because \"this.gtidSet\" is null"} {
		w := newWorker(existing, projection)
		w.fail(existing)
		w.connectors[existing].trace = trace
		var out bytes.Buffer
		if up, err := operator(w, &out).Status(t.Context()); err != nil || up || !strings.Contains(out.String(), "cdc connectors reset source-existing") {
			t.Errorf("up %t, error %v:\n%s", up, err, out.String())
		}
	}
}

func TestAnUnknownPositionIsExplained(t *testing.T) {
	t.Parallel()
	w := newWorker(existing, projection)
	w.brokersAway = true
	var out bytes.Buffer
	if _, err := operator(w, &out).Status(t.Context()); err != nil || !strings.Contains(out.String(), "check that the brokers are up") {
		t.Errorf("error %v:\n%s", err, out.String())
	}
}

func TestARestartShowsItsWayAndWhereItFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker(existing)
		w.fail(existing)
		w.onRestart = func(c *connector) {
			c.tasks = []string{connect.Restarting}
			time.AfterFunc(1900*time.Millisecond, func() { w.change(func() { c.tasks = []string{connect.Running} }) })
		}
		var out bytes.Buffer
		if err := operator(w, &out).Restart(t.Context(), []string{existing}); err != nil {
			t.Fatal(err)
		}
		if want := "source-existing: restarting\nsource-existing: RUNNING, tasks 0:RESTARTING\nsource-existing: up after 2.0 s\n"; out.String() != want {
			t.Fatalf("said %q", out.String())
		}
		w.fail(existing)
		w.onRestart = nil
		err := operator(w, &out).Restart(t.Context(), []string{existing})
		if err == nil || !strings.Contains(err.Error(), "RUNNING, tasks 0:FAILED; see cdc connectors status") || strings.Contains(err.Error(), "Asha") {
			t.Fatalf("error = %v", err)
		}
	})
}

func TestAConnectorThatNobodyKnowsIsRefusedBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	w := newWorker(existing)
	if err := operator(w, io.Discard).Stop(t.Context(), []string{existing, "sauce"}); err == nil || !strings.Contains(err.Error(), `"sauce"`) || len(w.requests) > 0 {
		t.Fatalf("%v, requests %v", err, w.requests)
	}
}
