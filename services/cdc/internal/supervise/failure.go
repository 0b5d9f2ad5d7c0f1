package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
)

// failure is the state of a failing connector. It begins when a check finds the connector failed, and ends when the
// connector has been up for some time or was stopped by an operator.
type failure struct {
	since    time.Time // since when the connector runs without tasks; not a failure yet, see mendTaskless
	task     int       // task of the trace; -1: the connector itself
	trace    string
	offsets  string
	recorded bool
	restarts int
	next     time.Time // time of the next restart
	relearn  time.Time // time from which on the next start from scratch may cause another full resync
	upSince  time.Time // since when the connector is up; zero if it is not
	// unreadable are the captured tables last logged as unreadable.
	unreadable string
}

// failed returns the task (-1 for the connector itself) and the trace of the first failed part. The trace is empty if
// no part failed.
func failed(status connect.Status) (task int, trace string) {
	const unknown = "no trace"
	for _, t := range status.Tasks {
		if t.State == connect.Failed {
			return t.ID, or(t.Trace, unknown)
		}
	}
	if status.Connector.State == connect.Failed {
		return -1, or(status.Connector.Trace, unknown)
	}
	return -1, ""
}

func or(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// care checks the current state of a connector and reacts to it.
func (s *Supervisor) care(ctx context.Context, name string, status connect.Status) error {
	task, trace := failed(status)
	now := s.Clock.Now()
	switch c := s.cases[name]; {
	case status.Held():
		delete(s.cases, name)
		return nil
	case status.Up():
		s.recover(name, now)
		return nil
	case trace != "":
		return s.repair(ctx, name, s.open(ctx, name, task, trace), now)
	case status.Connector.State == connect.Running && len(status.Tasks) == 0:
		return s.mendTaskless(ctx, name, now)
	case c != nil: // the connector is moving between two workers
		c.upSince = time.Time{}
	}
	return nil
}

// recover ends a failure once the connector has been up for long enough.
func (s *Supervisor) recover(name string, now time.Time) {
	c := s.cases[name]
	switch {
	case c == nil:
	case c.upSince.IsZero():
		c.upSince = now
	case now.Sub(c.upSince) >= stable:
		delete(s.cases, name)
	}
}

// open returns the connector's failure. For a new failure, it reads the offsets before they change.
func (s *Supervisor) open(ctx context.Context, name string, task int, trace string) *failure {
	c := s.cases[name]
	if c == nil {
		c = &failure{}
		s.cases[name] = c
	}
	if c.trace != "" && hopeless(trace) && !hopeless(c.trace) {
		c.trace, c.recorded, c.next = "", false, time.Time{} // another failure, which restarts cannot fix
	}
	if c.trace == "" {
		c.task, c.trace = task, trace
		c.offsets = s.offsets(ctx, name)
	}
	if !c.upSince.IsZero() && s.Clock.Now().Sub(c.upSince) >= otherAfter {
		c.relearn = time.Time{}
	}
	c.upSince = time.Time{}
	return c
}

// hopeless reports whether restarts cannot fix a failure.
func hopeless(trace string) bool { return connect.LostPosition(trace) || connect.LostStructure(trace) }

// offsets returns the connector's offsets as JSON, or the error of reading them as JSON.
func (s *Supervisor) offsets(ctx context.Context, name string) string {
	offsets, err := s.Runtime.Offsets(ctx, name)
	if err != nil {
		offsets, _ = json.Marshal(map[string]string{"unknown": err.Error()}) // strings can always be encoded
	}
	return string(offsets)
}

// repair records the failure once and restarts the failed parts when the restart is due. If the failure log is
// unavailable, the restart still takes place, and recording is retried at the next check.
func (s *Supervisor) repair(ctx context.Context, name string, c *failure, now time.Time) error {
	var problem error
	if !c.recorded {
		if problem = s.Failures.Record(ctx, name, c.task, c.trace, c.offsets); problem == nil {
			c.recorded = true
		}
	}
	if now.Before(c.next) {
		return problem
	}
	if connect.LostPosition(c.trace) {
		return errors.Join(problem, s.lose(ctx, name, c, now))
	}
	if connect.LostStructure(c.trace) {
		return errors.Join(problem, s.relearn(ctx, name, c, now))
	}
	return s.restart(ctx, name, c, now, true, problem)
}

// lose starts a jump of all connectors: if one has lost its position in the binary log, the others' positions may look
// valid in a new log. The jump is stored first, so that the full resync is not lost.
func (s *Supervisor) lose(ctx context.Context, name string, c *failure, now time.Time) error {
	c.next = now.Add(pause(c.restarts))
	c.restarts++
	c.trace = "" // the next failure gets its own trace
	s.Log.Error("the binary log no longer holds what a connector is to read next; all connectors start over, and then all"+
		" patients are computed again", "connector", name)
	s.Observer.Lost(name)
	return s.Jumps.Jump(ctx, s.Connectors)
}

const (
	// relearnPause is the minimum time between two restarts from scratch for the same failure, because each causes a full
	// resync.
	relearnPause = 10 * time.Minute
	// otherAfter is the time for which a connector must have been up until its next failure counts as another one. After
	// each failover of MariaDB, Debezium 3.5 does not find the table structures at its next start (debezium/dbz#1672).
	otherAfter = time.Minute
)

// relearn restarts all connectors from scratch, so that they read the table structures. It does nothing while a
// captured table has a definition that they cannot read, because an operator has to change the table first.
func (s *Supervisor) relearn(ctx context.Context, name string, c *failure, now time.Time) error {
	if now.Before(c.relearn) {
		return nil
	}
	tables, err := s.Unreadable(ctx)
	if err != nil {
		return err
	}
	if len(tables) > 0 {
		c.next = now.Add(firstPause)
		if found := strings.Join(tables, "; "); found != c.unreadable {
			c.unreadable = found
			s.Log.Error("a connector cannot read a captured table; change the table, then the connectors start over by themselves",
				"connector", name, "tables", found)
		}
		return nil
	}
	c.next, c.relearn, c.trace, c.unreadable = now.Add(firstPause), now.Add(relearnPause), "", ""
	s.Log.Error("a connector met a statement that it cannot read; all connectors read the structure of the tables again, and"+
		" then all patients are computed again", "connector", name)
	s.Observer.Lost(name)
	return s.Jumps.Jump(ctx, s.Connectors)
}

// jump makes one step of a jump per call, because offsets can only be deleted after the connector's tasks have ended.
func (s *Supervisor) jump(ctx context.Context, name string, status connect.Status) error {
	if status.Connector.State != connect.Stopped || len(status.Tasks) > 0 {
		return s.Runtime.Stop(ctx, name)
	}
	if err := s.Runtime.Forget(ctx, name); err != nil {
		return err
	}
	if err := s.Runtime.Resume(ctx, name); err != nil {
		return err
	}
	return s.Jumps.Jumped(ctx, name)
}

// mendTaskless restarts a connector that has been running without a task for too long: the runtime failed to create one
// but reports no error.
func (s *Supervisor) mendTaskless(ctx context.Context, name string, now time.Time) error {
	c := s.cases[name]
	if c == nil {
		c = &failure{since: now}
		s.cases[name] = c
	}
	if c.since.IsZero() {
		c.since = now
	}
	c.upSince = time.Time{}
	if now.Sub(c.since) < taskless || now.Before(c.next) {
		return nil
	}
	return s.restart(ctx, name, c, now, false, nil)
}

func (s *Supervisor) restart(
	ctx context.Context, name string, c *failure, now time.Time, onlyFailed bool, problem error,
) error {
	c.next = now.Add(pause(c.restarts))
	c.restarts++
	s.Log.Warn("restarting a connector", "connector", name, "restart", c.restarts, "next_after", c.next.Sub(now).String())
	s.Observer.Restarted(name)
	if err := s.Runtime.Restart(ctx, name, onlyFailed); err != nil {
		return fmt.Errorf("supervise %s: %w", name, err)
	}
	return problem
}

// pause returns the time between a restart and the next one.
func pause(restarts int) time.Duration {
	d := firstPause
	for range restarts {
		if d = 2 * d; d >= maxPause {
			return maxPause
		}
	}
	return d
}
