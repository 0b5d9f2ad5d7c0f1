package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/connect"
)

const (
	lookPause = 500 * time.Millisecond
	oldState  = 3 * time.Second // for so long a look may still show the failure that a restart mends
	steady    = 3 * time.Second // a task that cannot work runs for a moment before it fails
	mostWait  = 2 * time.Minute
)

// Admin is the connector runtime as far as an operator's commands need it.
type Admin interface {
	Positions
	Statuses(ctx context.Context) (map[string]connect.Status, error)
	Restart(ctx context.Context, name string, onlyFailed bool) error
	Stop(ctx context.Context, name string) error
	Resume(ctx context.Context, name string) error
}

// Positions are how far the connectors have read.
type Positions interface {
	Offsets(ctx context.Context, name string) (json.RawMessage, error)
	Forget(ctx context.Context, name string) error
}

// Operator carries out an operator's commands: each says what it does and waits until it is done.
type Operator struct {
	Runtime    Admin
	Connectors []string // that there are; a command without names means all
	Clock      clock.Clock
	Out        io.Writer
}

// Status prints a table of the connectors, and under it what to do about those that are not up. It reports whether
// all are.
func (o *Operator) Status(ctx context.Context) (allUp bool, err error) {
	all, err := o.Runtime.Statuses(ctx)
	if err != nil {
		return false, err
	}
	table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CONNECTOR\tUP\tSTATE\tTASKS\tWORKER\tREAD UP TO")
	allUp = true
	var advice []string
	for _, name := range o.Connectors {
		status, exists := all[name]
		allUp = allUp && status.Up()
		advice = append(advice, o.row(ctx, table, name, status, exists)...)
		advice = append(advice, advise(name, status, exists)...)
	}
	if err := table.Flush(); err != nil {
		return false, err
	}
	for _, line := range advice {
		fmt.Fprintln(o.Out, line)
	}
	return allUp, nil
}

// row prints the connector's line and returns what must be said below the table about its position.
func (o *Operator) row(
	ctx context.Context,
	table io.Writer,
	name string,
	status connect.Status,
	exists bool,
) (remarks []string) {
	if !exists {
		fmt.Fprintf(table, "%s\tno\tABSENT\t-\t-\t-\n", name)
		return nil
	}
	up := "no"
	if status.Up() {
		up = "yes"
	}
	tasks := make([]string, len(status.Tasks))
	for i, task := range status.Tasks {
		tasks[i] = fmt.Sprintf("%d:%s", task.ID, task.State)
	}
	position := "unknown"
	if offsets, err := o.Runtime.Offsets(ctx, name); err == nil {
		position = readable(offsets)
	} else {
		remarks = append(remarks, fmt.Sprintf("%v. The states above may be old: check that the brokers are up", err))
	}
	fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", name, up, status.Connector.State, or(strings.Join(tasks, " "), "none"),
		or(status.Connector.Worker, "-"), position)
	return remarks
}

// readable is "binlog.000001:10247, gtid 0-1-35, 2026-02-03T04:05:06Z"; while a snapshot runs it says so.
func readable(offsets json.RawMessage) string {
	var list []struct {
		Offset struct {
			File     string `json:"file"`
			Position int64  `json:"pos"`
			GTIDs    string `json:"gtids"`
			Seconds  int64  `json:"ts_sec"`
			Snapshot any    `json:"snapshot"`
		} `json:"offset"`
	}
	if err := json.Unmarshal(offsets, &list); err != nil || len(list) == 0 {
		return "nothing yet"
	}
	at := list[0].Offset
	text := fmt.Sprintf("%s:%d", at.File, at.Position)
	if at.GTIDs != "" {
		text += ", gtid " + at.GTIDs
	}
	if at.Seconds > 0 {
		text += ", " + time.Unix(at.Seconds, 0).UTC().Format(time.RFC3339)
	}
	if at.Snapshot != nil && at.Snapshot != false {
		text += ", in its snapshot"
	}
	return text
}

// advise says what is wrong with a connector and what to do next. Of a trace it shows the classes of the exceptions:
// their messages may quote rows.
func advise(name string, status connect.Status, exists bool) []string {
	switch task, trace := failed(status); {
	case !exists:
		return []string{name + " does not exist: cdc connectors apply makes it, and it goes on where it was"}
	case status.Held():
		return []string{fmt.Sprintf("%s is %s by an operator: cdc connectors resume %s", name, status.Connector.State, name)}
	case connect.LostPosition(trace):
		return []string{
			fmt.Sprintf(
				"%s cannot go on: the binary log no longer holds its position. Have it send all rows again: cdc connectors reset %s; then cdc reconcile --repair --wait 5m",
				name,
				name,
			),
		}
	case trace != "":
		what := name + " failed"
		if task >= 0 {
			what = fmt.Sprintf("task %d of %s failed", task, name)
		}
		return []string{
			fmt.Sprintf(
				"%s: %s. It is restarted by itself, at least every %.0f s; at once: cdc connectors restart %s. The whole trace is in cdc.connector-dlq",
				what,
				or(strings.Join(connect.Causes(trace), " < "), "cause unknown"),
				mostPause.Seconds(),
				name,
			),
		}
	case !status.Up():
		return []string{name + " is on its way: look again in a few seconds"}
	}
	return nil
}

// Restart restarts the connectors with their tasks and waits until they are up.
func (o *Operator) Restart(ctx context.Context, names []string) error {
	restart := func(ctx context.Context, name string) error { return o.Runtime.Restart(ctx, name, false) }
	return o.each(ctx, names, "restarting", "up", restart, connect.Status.Up, steady)
}

// Stop stops the connectors and waits until their tasks are gone: nothing reads the database then, e.g. for DDL.
func (o *Operator) Stop(ctx context.Context, names []string) error {
	stopped := func(s connect.Status) bool { return s.Connector.State == connect.Stopped && len(s.Tasks) == 0 }
	return o.each(ctx, names, "stopping", "stopped", o.Runtime.Stop, stopped, 0)
}

// Resume starts stopped or paused connectors again, where they were, and waits until they are up.
func (o *Operator) Resume(ctx context.Context, names []string) error {
	return o.each(ctx, names, "resuming", "up", o.Runtime.Resume, connect.Status.Up, steady)
}

// Reset has the connectors forget how far they have read, so that they begin with all rows again, and waits until they
// are up. write commits a transaction of any kind: MariaDB's global transaction id is empty in a binary log without
// one, and a connector does not get beyond a snapshot that was taken at an empty id. Killed on the way, the connectors
// stay stopped until it is called again.
func (o *Operator) Reset(ctx context.Context, names []string, write func(context.Context) error) error {
	if len(names) == 0 {
		names = o.Connectors
	}
	if err := o.Stop(ctx, names); err != nil {
		return err
	}
	if err := write(ctx); err != nil {
		return err
	}
	for _, name := range names {
		if err := o.Runtime.Forget(ctx, name); err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "%s: forgot its position; all rows are sent again\n", name)
	}
	return o.Resume(ctx, names)
}

func (o *Operator) each(ctx context.Context, names []string, doing, done string,
	act func(context.Context, string) error, reached func(connect.Status) bool, hold time.Duration) error {
	if len(names) == 0 {
		names = o.Connectors
	}
	for _, name := range names {
		if !slices.Contains(o.Connectors, name) {
			return fmt.Errorf("there is no connector %q: name one of %s", name, strings.Join(o.Connectors, ", "))
		}
	}
	var problems []error
	var acted []string
	for _, name := range names {
		fmt.Fprintf(o.Out, "%s: %s\n", name, doing)
		if err := act(ctx, name); err != nil {
			problems = append(problems, err)
			continue
		}
		acted = append(acted, name)
	}
	for _, name := range acted { // one that does not come up must not keep the other down
		problems = append(problems, o.await(ctx, name, done, reached, hold))
	}
	return errors.Join(problems...)
}

// await looks until the state was reached and held, and shows every other state on the way. The first look comes
// after a pause: the runtime goes on showing the old state for a moment.
func (o *Operator) await(
	ctx context.Context,
	name, done string,
	reached func(connect.Status) bool,
	hold time.Duration,
) error {
	begin, said := o.Clock.Now(), ""
	var since time.Time // when it was reached; zero while it is not
	ticker := time.NewTicker(lookPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		all, err := o.Runtime.Statuses(ctx)
		if err != nil {
			return err
		}
		status, exists := all[name]
		now := o.Clock.Now()
		waited := now.Sub(begin)
		if reached(status) {
			if since.IsZero() {
				since = now
			}
			if now.Sub(since) >= hold {
				fmt.Fprintf(o.Out, "%s: %s after %.1f s\n", name, done, since.Sub(begin).Seconds())
				return nil
			}
			continue
		}
		since = time.Time{}
		state := summary(status, exists)
		if _, trace := failed(status); trace != "" && waited > oldState || waited > mostWait {
			return fmt.Errorf("%s is not %s after %.0f s: %s; see cdc connectors status", name, done, waited.Seconds(), state)
		}
		if state != said {
			said = state
			fmt.Fprintf(o.Out, "%s: %s\n", name, state)
		}
	}
}
