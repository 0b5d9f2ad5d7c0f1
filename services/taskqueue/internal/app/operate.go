package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// ErrViolations makes the command fsck exit with 1.
var ErrViolations = errors.New("the queue's data breaks its invariants")

// Verbs returns the operators' commands. Most work on the queue's Redis beside running services. They write to out and
// log their changes to log. environ holds the settings.
func Verbs(environ []string, out, log io.Writer) []cli.Verb {
	d := &desk{environ: environ, out: out, log: slog.New(slog.NewTextHandler(log, nil))}
	return []cli.Verb{d.resolveVerb(), d.bulkVerb(), d.pauseVerb(true), d.pauseVerb(false), d.fsckVerb(), d.jobsVerb(),
		d.webhookSecretVerb(), d.providersVerb()}
}

func (d *desk) fsckVerb() cli.Verb {
	var repair bool
	return cli.Verb{
		Name:    "fsck",
		Summary: "Check every job against the invariants of the queue; exit 1 when any is broken.",
		Details: "The check only reads. --repair takes damaged jobs out of the queue: what ended stays ended, the others become failed\n" +
			"ones, for retryTask. A failed job that ran when it was damaged may have been sent: look before you revive it.",
		Flags: func(f *flag.FlagSet) {
			f.BoolVar(&repair, "repair", false, "take what is damaged out of the queue, then check again")
			d.sign(f)
		},
		Run: d.opened(func(ctx context.Context, _ []string) error {
			if err := d.order.Check(); err != nil {
				return err
			}
			return d.fsck(ctx, repair)
		}),
	}
}

func (d *desk) jobsVerb() cli.Verb {
	var dead int
	return cli.Verb{
		Name:    "jobs",
		Args:    "[flags] [ID ...]",
		Summary: "Show the depth and age of the lanes, the jobs of the given ids, or failed jobs; never payloads.",
		Details: "Jobs that Redis has forgotten are looked up in the archive.",
		Flags: func(f *flag.FlagSet) {
			f.IntVar(&dead, "dead", 0, "list this many of the oldest failed jobs that retryTask can revive")
		},
		Run: d.opened(func(ctx context.Context, ids []string) error {
			switch {
			case len(ids) > 0:
				return d.showJobs(ctx, ids)
			case dead > 0:
				return d.showDead(ctx, dead)
			default:
				return d.showLanes(ctx)
			}
		}),
	}
}

const fsckLines = 50

func (d *desk) fsck(ctx context.Context, repair bool) error {
	report, err := d.check(ctx)
	if err == nil && repair && len(report.Violations) > 0 {
		if err := d.repair(ctx, report); err != nil {
			return err
		}
		report, err = d.check(ctx)
	}
	if err != nil || len(report.Violations) == 0 {
		return err
	}
	return fmt.Errorf("%w: %d violations", ErrViolations, len(report.Violations))
}

func (d *desk) repair(ctx context.Context, report audit.Report) error {
	repaired, err := audit.Repair(ctx, d.queue, clock.System{}, report)
	d.log.InfoContext(ctx, "an operator repaired jobs", "operator", d.order.Operator, "ticket", d.order.Ticket,
		"done", repaired)
	fmt.Fprintf(d.out, "%d repaired\n", repaired)
	return err
}

// check checks all jobs and prints the violated invariants.
func (d *desk) check(ctx context.Context) (audit.Report, error) {
	r, err := audit.Check(ctx, d.queue)
	if err != nil {
		return r, err
	}
	names := make([]string, 0, len(r.Checked))
	for name, n := range r.Checked {
		names = append(names, fmt.Sprintf("%d in %s", n, name))
	}
	slices.Sort(names)
	fmt.Fprintf(d.out, "checked: %s\n%d violations\n", strings.Join(names, ", "), len(r.Violations))
	for i, v := range r.Violations {
		if i == fsckLines {
			fmt.Fprintf(d.out, "… and %d more\n", len(r.Violations)-i)
			break
		}
		fmt.Fprintf(d.out, "  %-15s shard %02d  %s  (found in %s)\n", v.Rule, v.Shard, v.Text, v.Source.Name)
	}
	return r, nil
}

func (d *desk) showLanes(ctx context.Context) error {
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SHARD\tCHANNEL\tPRIORITY\tWAITING\tOLDEST READY\tRUNNING IN CHANNEL")
	var dead int64
	for shard := range job.Shards {
		depths, err := d.queue.Depths(ctx, shard)
		if err != nil {
			return err
		}
		for _, l := range depths.Lanes {
			age := "-"
			if l.OldestMs > 0 {
				age = (time.Duration(l.OldestMs) * time.Millisecond).Round(100 * time.Millisecond).String()
			}
			fmt.Fprintf(w, "%02d\t%s\t%s\t%d\t%s\t%d\n", shard, l.Lane.Channel, l.Lane.Priority, l.Waiting, age, l.Running)
		}
		dead += depths.Dead
	}
	fmt.Fprintf(w, "\nfailed jobs that retryTask can revive: %d\n", dead)
	return w.Flush()
}

func (d *desk) showDead(ctx context.Context, most int) error {
	var ids []string
	for shard := range job.Shards {
		oldest := engine.Range{Shard: shard, List: engine.ListDead, Flow: engine.AllFlows}
		list, err := d.queue.Browse(ctx, oldest, engine.Member{}, most-len(ids))
		if err != nil {
			return err
		}
		for _, one := range list {
			ids = append(ids, string(one.ID))
		}
		if len(ids) >= most {
			break
		}
	}
	return d.showJobs(ctx, ids)
}

func (d *desk) showJobs(ctx context.Context, ids []string) error {
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tCHANNEL\tPRIORITY\tTASK\tLABORATORY\tATTEMPTS\tCREATED\tDUE\tSTARTED\tENDED\tERROR")
	missing := 0
	for chunk := range slices.Chunk(ids, manage.MaxIDs) {
		views, err := d.operator.Jobs.Info(ctx, task.Caller{Internal: true}, chunk)
		if err != nil {
			return err
		}
		for i, v := range views {
			if v == nil {
				missing++
				fmt.Fprintf(w, "%s\tnot found\n", chunk[i])
				continue
			}
			r := &v.Record
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d/%d\t%d\t%d of %d\t%s\t%s\t%s\t%s\t%s\n", v.ID, status(v), v.ID.Lane().Channel,
				v.ID.Lane().Priority, r.Task, r.TaskType, r.LabID, r.Attempts, r.Retry+1, moment(r.CreatedMs),
				moment(r.ScheduledMs), moment(r.StartedMs), moment(r.EndedMs), r.Error)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d jobs are not known", missing, len(ids))
	}
	return nil
}

func status(v *manage.Job) string {
	if v.CancelRequested {
		return v.Record.State.String() + " (cancel requested)"
	}
	return v.Record.State.String()
}

func moment(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}
