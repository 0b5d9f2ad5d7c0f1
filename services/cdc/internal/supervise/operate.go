package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/labplatform/labplatform/services/cdc/internal/store/connect"
)

// Operator executes an operator's commands. The runtime stores a command and executes it later; Status shows the
// result.
type Operator struct {
	Runtime    Runtime
	Connectors []string // all connectors; used by commands without names
	Out        io.Writer
}

// Status prints a table of the connectors, followed by advice about connectors that are not up. It reports whether all
// are up.
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

// row prints a connector's line of the table. It returns remarks about its position, which are printed after the table.
func (o *Operator) row(
	ctx context.Context, table io.Writer, name string, status connect.Status, exists bool,
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

// readable formats offsets as "binlog.000001:10247, gtid 0-1-35, 2026-02-03T04:05:06Z", or states that a snapshot is
// running.
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

// advise returns what is wrong with a connector and what to do next. It shows only the exception classes of a trace,
// because the messages may contain values of rows.
func advise(name string, status connect.Status, exists bool) []string {
	switch task, trace := failed(status); {
	case !exists:
		return []string{name + " does not exist: cdc connectors apply makes it, and all patients are computed again"}
	case status.Held():
		return []string{fmt.Sprintf("%s is %s by an operator: cdc connectors resume %s", name, status.Connector.State, name)}
	case connect.LostPosition(trace):
		return []string{name + " cannot continue where it was: all connectors start over by themselves, and then all patients" +
			" are computed again. If this is not the right database, stop them: cdc connectors stop"}
	case connect.LostStructure(trace):
		return []string{name + " met a statement that it cannot read, and does not know a captured table any more. When every captured table" +
			" is readable (cdc connectors check), all connectors start over by themselves; at once: cdc connectors recover"}
	case trace != "":
		what := name + " failed"
		if task >= 0 {
			what = fmt.Sprintf("task %d of %s failed", task, name)
		}
		return []string{
			fmt.Sprintf(
				"%s: %s. It is restarted by itself, at least every %.0f s; at once: cdc connectors restart %s. The whole trace is in cdc.connector-dlq",
				what, or(strings.Join(connect.Causes(trace), " < "), "cause unknown"), maxPause.Seconds(), name),
		}
	case !status.Up():
		return []string{name + " is on its way: look again in a few seconds"}
	}
	return nil
}

// Orders returns the commands accepted by Give.
func Orders() []string { return []string{"restart", "stop", "resume"} }

// Give sends a command to connectors. Restart includes their tasks. Stop persists across restarts of the workers; once
// Status shows STOPPED without tasks, nothing reads the database. Resume continues stopped or paused connectors at
// their positions.
func (o *Operator) Give(ctx context.Context, order string, names []string) error {
	said, act := "is restarted", func(name string) error { return o.Runtime.Restart(ctx, name, false) }
	switch order {
	case "stop":
		said, act = "is stopped", func(name string) error { return o.Runtime.Stop(ctx, name) }
	case "resume":
		said, act = "is resumed", func(name string) error { return o.Runtime.Resume(ctx, name) }
	}
	if len(names) == 0 {
		names = o.Connectors
	}
	var problems []error
	for _, name := range names {
		err := act(name)
		if err == nil {
			fmt.Fprintf(o.Out, "%s: %s; see with cdc connectors status\n", name, said)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
