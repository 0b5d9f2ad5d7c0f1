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

	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

// applier returns an Applier and its map of wanted configurations, which the caller may change.
func applier(w *worker) (*supervise.Applier, map[string]map[string]string) {
	wanted := map[string]map[string]string{
		existing:   {"connector.class": "c", "database.password": "hunter22"},
		projection: {"connector.class": "c", "database.password": "hunter22"},
	}
	return &supervise.Applier{Runtime: w.client(), Order: []string{existing, projection}, Jumps: newJournal(), Log: slog.New(slog.DiscardHandler),
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

// TestConnectorsThatTheRuntimeForgotAreMadeAgain checks that missing connectors are created again in a runtime that
// lost its state, and that the full resync for missed changes is stored before.
func TestConnectorsThatTheRuntimeForgotAreMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorker()
		w.away = true
		a, _ := applier(w)
		j := newJournal()
		a.Jumps = j
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		<-time.After(12 * time.Second)
		w.change(func() { w.away = false })
		<-time.After(10 * time.Second)
		w.change(func() {
			if len(w.connectors) != 2 {
				t.Errorf("got %v, want 2 elements", w.connectors)
			}
			w.connectors = map[string]*connector{}
		})
		<-time.After(time.Minute)
		w.change(func() {
			if len(w.connectors) != 2 {
				t.Errorf("behind the wipe there are %v", w.connectors)
			}
			w.connectors[existing].configuration["poll.interval.ms"] = "1" // an operator's change, which must be kept
		})
		<-time.After(time.Hour)
		stop()
		if err := <-done; err != nil || w.connectors[existing].configuration["poll.interval.ms"] != "1" || len(w.requests) != 4 {
			t.Errorf("error %v, requests %v", err, w.requests)
		}
		want := []string{"jumped " + existing, "jumped " + projection, "jumped " + existing, "jumped " + projection}
		if diff := cmp.Diff(want, j.jumps); diff != "" {
			t.Error(diff)
		}
	})
}

func operator(w *worker, out io.Writer) *supervise.Operator {
	return &supervise.Operator{Runtime: w.client(), Connectors: []string{existing, projection}, Out: out}
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

func TestStopAndResumeAreOrders(t *testing.T) {
	t.Parallel()
	w := newWorker(existing, projection)
	var out bytes.Buffer
	o := operator(w, &out)
	if err := o.Give(t.Context(), "stop", nil); err != nil {
		t.Fatal(err)
	}
	if err := o.Give(t.Context(), "resume", []string{projection}); err != nil {
		t.Fatal(err)
	}
	want := `source-existing: is stopped; see with cdc connectors status
source-projection: is stopped; see with cdc connectors status
source-projection: is resumed; see with cdc connectors status
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Fatal(diff)
	}
	if w.connectors[existing].state != connect.Stopped || w.connectors[projection].state != connect.Running {
		t.Fatalf("states %v", w.connectors)
	}
	delete(w.connectors, existing)
	if err := o.Give(t.Context(), "restart", nil); !errors.Is(err, connect.ErrUnknown) || !strings.Contains(w.requests[len(w.requests)-1], "POST /connectors/"+projection) {
		t.Errorf("error %v, requests %v", err, w.requests)
	}
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
		if up, err := operator(w, &out).Status(t.Context()); err != nil || up || !strings.Contains(out.String(), "start over by themselves") {
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
