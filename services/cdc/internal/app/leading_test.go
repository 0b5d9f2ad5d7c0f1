package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
	"github.com/labplatform/labplatform/services/cdc/internal/supervise"
)

// broken is a connector runtime with a task that fails after every restart. It counts dead letters and restarts.
type broken struct{ letters, restarts int }

func (b *broken) Statuses(context.Context) (map[string]connect.Status, error) {
	task := connect.Task{Part: connect.Part{State: connect.Failed, Trace: "x.Y: refused"}}
	return map[string]connect.Status{"source-existing": {Connector: connect.Part{State: connect.Running}, Tasks: []connect.Task{task}}}, nil
}

func (b *broken) Restart(context.Context, string, bool) error {
	b.restarts++
	return nil
}

func (b *broken) Record(context.Context, string, int, string, string) error {
	b.letters++
	return nil
}

func (*broken) Stop(context.Context, string) error               { return nil }
func (*broken) Forget(context.Context, string) error             { return nil }
func (*broken) Resume(context.Context, string) error             { return nil }
func (*broken) Jump(context.Context, []string) error             { return nil }
func (*broken) Jumped(context.Context, string) error             { return nil }
func (*broken) Jumping(context.Context) (map[string]bool, error) { return nil, nil }
func (*broken) Lost(string)                                      {}
func (*broken) Offsets(context.Context, string) (json.RawMessage, error) {
	return json.RawMessage("[]"), nil
}
func (*broken) Connector(string, bool, map[int]string) {}
func (*broken) Restarted(string)                       {}

type ticking struct{ now time.Time }

func (c *ticking) Now() time.Time { return c.now }

// TestReplicasSuperviseAsOne checks that several replicas record a failure once and restart the task as often as one
// supervisor would.
func TestReplicasSuperviseAsOne(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3, 6} {
		db := mysqltest.New(t)
		runtime, clock := &broken{}, &ticking{time.Unix(1_790_000_000, 0)}
		leaders, supervisors := make([]*mysqldb.Leader, replicas), make([]*supervise.Supervisor, replicas)
		for i := range replicas {
			leaders[i] = mysqldb.NewLeader(db, superviseLock)
			defer leaders[i].Close(t.Context())
			supervisors[i] = supervise.New(supervise.Deps{Runtime: runtime, Failures: runtime, Jumps: runtime, Observer: runtime, Clock: clock,
				Log: slog.New(slog.DiscardHandler), Connectors: []string{"source-existing"}})
		}
		for range 300 { // 300 rounds are ten minutes
			for i := range replicas {
				if err := superviseBy(t.Context(), leaders[i], supervisors[i]); err != nil {
					t.Fatal(err)
				}
			}
			clock.now = clock.now.Add(superviseEvery)
		}
		if runtime.letters != 1 || runtime.restarts != 12 {
			t.Errorf("%d replicas: %d letters, %d restarts in ten minutes", replicas, runtime.letters, runtime.restarts)
		}
	}
}

func TestNoVerbMakesAnIndexOfRowsWithoutNames(t *testing.T) {
	t.Parallel()
	for override, refused := range map[phase.Phase]bool{phase.Migration: true, phase.Running: false} {
		s := &stores{phases: phase.New(phase.Deps{Walk: noWalk{}, Override: override, Log: slog.New(slog.DiscardHandler)})}
		if err := s.running(t.Context()); errors.Is(err, errNotRunning) != refused {
			t.Errorf("phase %s: %v", override, err)
		}
	}
}
