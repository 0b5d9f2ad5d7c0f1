// Package supervise owns the care for the source connectors: their configurations are applied once, when a process
// starts, what fails afterwards is restarted, and a connector that has lost its place starts over. What an operator
// stopped or paused stays that way; one that is not there is made.
package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
)

// The pace of restarts of one failure: at once, then after 10 s, 20 s, 40 s, and every minute. A restart costs little,
// and once the cause is fixed no one should wait longer for the index: failures that follow each other closely count
// as one.
const (
	firstPause = 10 * time.Second
	maxPause   = time.Minute
	stable     = 2 * time.Minute // up for this long: the failure is over
	taskless   = time.Minute     // running without a task for this long: a failure that the runtime does not call one
)

// Runtime is the connector runtime as far as supervision needs it.
type Runtime interface {
	// Statuses returns the state of every connector that there is.
	Statuses(ctx context.Context) (map[string]connect.Status, error)
	// Restart restarts the connector with its tasks, or only what failed of them.
	Restart(ctx context.Context, name string, onlyFailed bool) error
	// Offsets returns how far the connector has read.
	Offsets(ctx context.Context, name string) (json.RawMessage, error)
	// Stop ends the connector's tasks, Forget has a stopped one forget how far it has read, Resume starts it again.
	Stop(ctx context.Context, name string) error
	Forget(ctx context.Context, name string) error
	Resume(ctx context.Context, name string) error
}

// Jumps notes, durably, that connectors lose their place: when one of them is back and its first beat has come, every
// patient is computed again. Errors are faults.
type Jumps interface {
	// Jump notes that connectors are to forget their places.
	Jump(ctx context.Context, connectors []string) error
	// Jumping returns those of them that have not yet.
	Jumping(ctx context.Context) (map[string]bool, error)
	// Jumped notes that a connector begins, or has begun, at a new place.
	Jumped(ctx context.Context, connector string) error
}

// FailureLog keeps what an operator wants to know of a failed task: the trace, and the offsets as JSON.
type FailureLog interface {
	Record(ctx context.Context, connector string, task int, trace, offsets string) error
}

// Observer is told the present state at every look, and every restart.
type Observer interface {
	// Connector replaces what was said of it before. up: it runs, has tasks, and all run. tasks: state by id.
	Connector(name string, up bool, tasks map[int]string)
	// Restarted counts.
	Restarted(name string)
	// Lost counts connectors whose place the binary log does not hold any more.
	Lost(name string)
}

// Deps are what a supervisor works with.
type Deps struct {
	Runtime  Runtime
	Failures FailureLog
	Jumps    Jumps
	Observer Observer
	// Unreadable names the captured tables whose definition the connectors cannot read: to start over does not help then.
	Unreadable func(context.Context) ([]string, error)
	Clock      clock.Clock
	Log        *slog.Logger
	Connectors []string // names of those to care for
}

// Supervisor watches the connectors. Its methods are for one goroutine at a time.
type Supervisor struct {
	Deps
	cases map[string]*failure
	seen  map[string]string // the state that was last logged
}

// New returns a supervisor that has seen nothing yet.
func New(d Deps) *Supervisor {
	return &Supervisor{Deps: d, cases: map[string]*failure{}, seen: map[string]string{}}
}

// Observe reads the connectors and tells the observer. Every process may do that.
func (s *Supervisor) Observe(ctx context.Context) error {
	_, err := s.look(ctx)
	return err
}

// RunOnce reads the connectors and restarts what failed, when its time has come. One process at a time does that.
func (s *Supervisor) RunOnce(ctx context.Context) error {
	all, err := s.look(ctx)
	if err != nil {
		return err
	}
	jumping, err := s.Jumps.Jumping(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range s.Connectors {
		status, exists := all[name]
		if !exists {
			delete(s.cases, name)
			continue
		}
		if jumping[name] {
			problems = append(problems, s.jump(ctx, name, status))
			continue
		}
		if err := s.care(ctx, name, status); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// look reads the states. While the runtime does not answer nothing counts as up.
func (s *Supervisor) look(ctx context.Context) (map[string]connect.Status, error) {
	all, err := s.Runtime.Statuses(ctx)
	for _, name := range s.Connectors {
		status, exists := all[name]
		tasks := map[int]string{}
		for _, task := range status.Tasks {
			tasks[task.ID] = task.State
		}
		s.Observer.Connector(name, err == nil && status.Up(), tasks)
		if err == nil {
			s.report(name, status, exists)
		}
	}
	return all, err
}

// report logs a state when it is another one than before. Traces may quote rows: only the classes of their exceptions
// are logged.
func (s *Supervisor) report(name string, status connect.Status, exists bool) {
	state := summary(status, exists)
	if s.seen[name] == state {
		return
	}
	s.seen[name] = state
	switch {
	case status.Up():
		s.Log.Info("connector is up", "connector", name)
	case !exists:
		s.Log.Info("connector does not exist; it is made within half a minute, or by cdc connectors apply", "connector", name)
	case status.Held():
		s.Log.Warn("connector is held back by an operator and not supervised", "connector", name, "state", state)
	default:
		s.Log.Warn("connector is not up", "connector", name, "state", state, "causes", causes(status))
	}
}

// summary is "RUNNING, tasks 0:FAILED".
func summary(status connect.Status, exists bool) string {
	if !exists {
		return "absent"
	}
	var tasks []string
	for _, task := range status.Tasks {
		tasks = append(tasks, fmt.Sprintf("%d:%s", task.ID, task.State))
	}
	if len(tasks) == 0 {
		return status.Connector.State + ", no tasks"
	}
	return status.Connector.State + ", tasks " + strings.Join(tasks, " ")
}

func causes(status connect.Status) string {
	_, trace := failed(status)
	return strings.Join(connect.Causes(trace), " < ")
}
