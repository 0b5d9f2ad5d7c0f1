package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/command"
	"github.com/labplatform/labplatform/services/taskqueue/internal/audit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
)

// ErrViolations makes fsck exit with 1.
var ErrViolations = errors.New("the queue's data breaks its invariants")

// Verbs are what operators do besides serving. They work on the queue's Redis, beside running services, and write
// to out; environ holds the settings.
func Verbs(environ []string, out io.Writer) []command.Verb {
	var repair bool
	var dead int
	return []command.Verb{
		resolveVerb(environ, out),
		bulkVerb(environ, out),
		pauseVerb(environ, out, true),
		pauseVerb(environ, out, false),
		{
			Name:    "fsck",
			Summary: "Check every job against the invariants of the queue; exit 1 when any is broken.",
			Details: "The check only reads. --repair mends in a strict order what can be mended without losing or repeating a task: a job\n" +
				"whose place is not known becomes a failed one, for retryTask. Run it again until it finds nothing.",
			Flags: func(f *flag.FlagSet) { f.BoolVar(&repair, "repair", false, "mend what is broken, then check again") },
			Run: func(ctx context.Context, _ []string) error {
				return withQueue(ctx, environ, func(q *engine.Redis) error { return fsck(ctx, q, out, repair) })
			},
		},
		{
			Name:    "jobs",
			Args:    "[flags] [ID ...]",
			Summary: "Show the depth and age of the lanes, the jobs of the given ids, or failed jobs; never payloads.",
			Flags: func(f *flag.FlagSet) {
				f.IntVar(&dead, "dead", 0, "list this many of the oldest failed jobs that retryTask can revive")
			},
			Run: func(ctx context.Context, ids []string) error {
				return withQueue(ctx, environ, func(q *engine.Redis) error {
					switch {
					case len(ids) > 0:
						return showJobs(ctx, q, out, ids)
					case dead > 0:
						return showDead(ctx, q, out, dead)
					default:
						return showLanes(ctx, q, out)
					}
				})
			},
		},
	}
}

// OperatorVerbs are Verbs of this process.
func OperatorVerbs() []command.Verb { return Verbs(os.Environ(), os.Stdout) }

func withQueue(ctx context.Context, environ []string, do func(*engine.Redis) error) error {
	cfg, err := Load(environ)
	if err != nil {
		return err
	}
	return withQueueOf(ctx, cfg, do)
}

func withQueueOf(ctx context.Context, cfg Config, do func(*engine.Redis) error) error {
	client := redis.NewUniversalClient(cfg.redis())
	defer func() { _ = client.Close() }()
	q, err := engine.New(engine.Config{Client: client, Bells: client, Settings: cfg.engine()})
	if err != nil {
		return err //nolint:wrapcheck // the same module
	}
	if err := q.RefreshShards(ctx); err != nil {
		return err //nolint:wrapcheck // names the step
	}
	return do(q)
}

const fsckLines = 50

func fsck(ctx context.Context, q *engine.Redis, out io.Writer, repair bool) error {
	report, err := audit.Check(ctx, q)
	if err != nil {
		return err //nolint:wrapcheck // the same module
	}
	printReport(out, report)
	if len(report.Violations) == 0 {
		return nil
	}
	if repair {
		mended, err := audit.Repair(ctx, q, clock.System{}, report)
		fmt.Fprintf(out, "%d mended\n", mended)
		if err != nil {
			return err //nolint:wrapcheck // the same module
		}
		if report, err = audit.Check(ctx, q); err != nil {
			return err //nolint:wrapcheck // the same module
		}
		printReport(out, report)
	}
	if len(report.Violations) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d violations", ErrViolations, len(report.Violations))
}

func printReport(out io.Writer, r audit.Report) {
	names := make([]string, 0, len(r.Checked))
	for name, n := range r.Checked {
		names = append(names, fmt.Sprintf("%d in %s", n, name))
	}
	slices.Sort(names)
	fmt.Fprintf(out, "checked: %s\n%d violations\n", strings.Join(names, ", "), len(r.Violations))
	for i, v := range r.Violations {
		if i == fsckLines {
			fmt.Fprintf(out, "… and %d more\n", len(r.Violations)-i)
			return
		}
		fmt.Fprintf(out, "  %-15s shard %02d  %s  (found in %s)\n", v.Rule, v.Shard, v.Text, v.Source.Name)
	}
}

func showLanes(ctx context.Context, q *engine.Redis, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SHARD\tCHANNEL\tPRIORITY\tWAITING\tOLDEST READY\tRUNNING IN CHANNEL")
	var dead int64
	for shard := range q.Shards() {
		list, err := q.Depths(ctx, shard)
		if err != nil {
			return err //nolint:wrapcheck // the same module
		}
		for _, d := range list {
			age := "-"
			if d.OldestMs > 0 {
				age = (time.Duration(d.OldestMs) * time.Millisecond).Round(100 * time.Millisecond).String()
			}
			fmt.Fprintf(w, "%02d\t%s\t%s\t%d\t%s\t%d\n", shard, d.Lane.Channel, d.Lane.Priority, d.Waiting, age, d.Running)
		}
		_, n, err := q.OldestDead(ctx, shard, 0, 1)
		if err != nil {
			return err //nolint:wrapcheck // the same module
		}
		dead += n
	}
	fmt.Fprintf(w, "\nfailed jobs that retryTask can revive: %d\n", dead)
	return w.Flush()
}

func showDead(ctx context.Context, q *engine.Redis, out io.Writer, most int) error {
	var ids []string
	for shard := range q.Shards() {
		list, _, err := q.OldestDead(ctx, shard, clock.System{}.Now().UnixMilli(), most-len(ids))
		if err != nil {
			return err //nolint:wrapcheck // the same module
		}
		for _, d := range list {
			ids = append(ids, string(d.ID))
		}
		if len(ids) >= most {
			break
		}
	}
	return showJobs(ctx, q, out, ids)
}

func showJobs(ctx context.Context, q *engine.Redis, out io.Writer, ids []string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tCHANNEL\tPRIORITY\tTASK\tLABORATORY\tATTEMPTS\tCREATED\tDUE\tSTARTED\tENDED\tERROR")
	m := manage.New(manage.Deps{Queue: q, Lease: q.Lease(), Clock: clock.System{}})
	missing := 0
	for chunk := range slices.Chunk(ids, manage.MaxIDs) {
		views, err := m.Info(ctx, manage.Viewer{All: true}, chunk)
		if err != nil {
			return err //nolint:wrapcheck // a sentence for people
		}
		for i, v := range views {
			if v == nil {
				missing++
				fmt.Fprintf(w, "%s\tnot found\n", chunk[i])
				continue
			}
			r := &v.Record
			fmt.Fprintf(
				w,
				"%s\t%s\t%s\t%s\t%d/%d\t%d\t%d of %d\t%s\t%s\t%s\t%s\t%s\n",
				v.ID,
				status(v),
				v.ID.Lane().Channel,
				v.Priority,
				r.Task,
				r.TaskType,
				r.LabID,
				r.Attempts,
				r.Retry+1,
				moment(r.CreatedMs),
				moment(r.ScheduledMs),
				moment(r.StartedMs),
				moment(r.EndedMs),
				r.Error,
			)
		}
	}
	if err := w.Flush(); err != nil {
		return err //nolint:wrapcheck // of the output
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d jobs are not in Redis", missing, len(ids))
	}
	return nil
}

func status(v *manage.View) string {
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
