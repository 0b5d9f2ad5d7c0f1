// Package supervise supervises the source connectors. It applies their configurations once at the start of a process,
// then restarts failed parts, creates missing connectors, and restarts connectors from scratch after a lost position.
// Connectors stopped or paused by an operator are not changed.
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

// Pauses between restarts of one failure: the first restart is immediate, the next ones follow after 10 s, 20 s, 40 s,
// and then every minute. A restart is cheap, and longer pauses would delay the index after the cause is fixed. Failures
// in quick succession count as one.
const (
	firstPause = 10 * time.Second
	maxPause   = time.Minute
	stable     = 2 * time.Minute // how long a connector must be up until it no longer counts as failing
	taskless   = time.Minute     // how long a connector may run without a task until it counts as failed
)

// Runtime is the part of the connector runtime used for supervision.
type Runtime interface {
	// Statuses returns the states of all existing connectors.
	Statuses(ctx context.Context) (map[string]connect.Status, error)
	// Restart restarts the connector with its tasks, or only the failed parts.
	Restart(ctx context.Context, name string, onlyFailed bool) error
	// Offsets returns the connector's position in its source.
	Offsets(ctx context.Context, name string) (json.RawMessage, error)
	// Stop ends the connector's tasks, Forget deletes the position of a stopped connector, and Resume starts it again.
	Stop(ctx context.Context, name string) error
	Forget(ctx context.Context, name string) error
	Resume(ctx context.Context, name string) error
}

// Jumps durably stores which connectors have to abandon their positions. When such a connector runs again and its first
// heartbeat arrives, a full resync starts. Errors are faults.
type Jumps interface {
	// Jump stores that connectors have to abandon their positions.
	Jump(ctx context.Context, connectors []string) error
	// Jumping returns the connectors that still have to abandon their positions.
	Jumping(ctx context.Context) (map[string]bool, error)
	// Jumped records that a connector has started, or is about to start, at a new position.
	Jumped(ctx context.Context, connector string) error
}

// FailureLog stores the details of a failed task for operators: the trace, and the offsets as JSON.
type FailureLog interface {
	Record(ctx context.Context, connector string, task int, trace, offsets string) error
}

// Observer receives the current state at every check, and every restart, for metrics.
type Observer interface {
	// Connector replaces the reported state of a connector. up is true if the connector runs and has tasks, all of which
	// run. tasks maps task ids to states.
	Connector(name string, up bool, tasks map[int]string)
	Restarted(name string)
	// Lost counts a connector whose position is no longer in the binary log or whose table structures are unreadable.
	Lost(name string)
}

// Deps are the dependencies of a Supervisor.
type Deps struct {
	Runtime  Runtime
	Failures FailureLog
	Jumps    Jumps
	Observer Observer
	// Unreadable returns the captured tables whose definition the connectors cannot read. While there are any, a start
	// from scratch does not help.
	Unreadable func(context.Context) ([]string, error)
	Clock      clock.Clock
	Log        *slog.Logger
	Connectors []string // names of the supervised connectors
}

// Supervisor supervises the connectors. It is not safe for concurrent use.
type Supervisor struct {
	Deps
	cases map[string]*failure
	seen  map[string]string // last logged state by connector
}

// New returns a Supervisor that has not read any state yet.
func New(d Deps) *Supervisor {
	return &Supervisor{Deps: d, cases: map[string]*failure{}, seen: map[string]string{}}
}

// Observe reads the states of the connectors and passes them to the observer. All processes may call it concurrently.
func (s *Supervisor) Observe(ctx context.Context) error {
	_, err := s.look(ctx)
	return err
}

// RunOnce reads the states and restarts failed connectors when a restart is due. Only one process at a time may call
// it.
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

// look reads and reports the states. If the runtime does not respond, all connectors are reported as not up.
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

// report logs a state if it changed. It logs only the exception classes of a trace, because the messages may contain
// values of rows.
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

// summary returns a state as text, such as "RUNNING, tasks 0:FAILED".
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
