package app

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/command"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/internal/archive"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
)

// bulkOrder is what the flags of the verb bulk select.
type bulkOrder struct {
	lab                     int64
	channel, states, reason string
	age                     time.Duration
	dryRun                  bool
}

// bulkVerb does to many jobs what the queue's page does, by the same use cases.
func bulkVerb(environ []string, out io.Writer) command.Verb {
	var o bulkOrder
	return command.Verb{
		Name:    "bulk",
		Args:    "[flags] cancel|retry|delete|sent|not_sent",
		Summary: "Cancel, retry, delete or resolve many jobs by laboratory, channel, state, reason and age.",
		Details: "Name a laboratory or a channel. The jobs are counted first, then changed in steps of 500, which are printed; jobs that\n" +
			"come meanwhile are left alone, and a verb that was interrupted may be run again. cancel: waiting jobs end, running ones are\n" +
			"asked to. retry: failed jobs run again in two minutes. delete: failed and unknown jobs are forgotten after the archive took\n" +
			"how they ended. sent, not_sent: unknown jobs end by what was found out at the provider.",
		Flags: func(f *flag.FlagSet) {
			f.Int64Var(&o.lab, "lab", 0, "only jobs of this laboratory")
			f.StringVar(&o.channel, "channel", "", "only jobs of this channel")
			f.StringVar(&o.states, "state", "", "only jobs in these states, with commas; empty: every state that the action fits")
			f.StringVar(&o.reason, "reason", "", "only jobs whose last failure has this reason, or one that begins so")
			f.DurationVar(&o.age, "older-than", 0, "only jobs that were accepted so long ago, such as 90m")
			f.BoolVar(&o.dryRun, "dry-run", false, "count, show ten ids, and change nothing")
		},
		Run: func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%w: name one action: %v", command.ErrUsage, operate.Actions())
			}
			return withOperator(ctx, environ, func(desk *operate.Operator) error {
				return bulk(ctx, desk, out, operate.Action(args[0]), o)
			})
		},
	}
}

// withOperator runs the use cases of operators beside running services.
func withOperator(ctx context.Context, environ []string, do func(*operate.Operator) error) error {
	cfg, err := Load(environ)
	if err != nil {
		return err
	}
	return withQueueOf(ctx, cfg, func(q *engine.Redis) error {
		deps := operate.Deps{Queue: q, Jobs: managerOf(q), Clock: clock.System{}}
		if cfg.DatabaseEnabled {
			db, err := mysqldb.Open(cfg.DB, nil)
			if err != nil {
				return fmt.Errorf("open database: %w", err)
			}
			defer func() { _ = db.Close() }()
			log := slog.New(slog.NewTextHandler(os.Stderr, nil))
			deps.Keeper = archive.New(archive.Deps{Queue: q, Store: mysql.NewArchive(db), Observer: uncounted{},
				Clock: deps.Clock, Log: log, Owner: rand.Text()})
		}
		return do(operate.New(deps))
	})
}

// uncounted is the observer of a process without metrics.
type uncounted struct{}

func (uncounted) Archived(string, int) {}

func bulk(ctx context.Context, desk *operate.Operator, out io.Writer, a operate.Action, o bulkOrder) error {
	before := desk.Clock.Now().UnixMilli() + 1 - o.age.Milliseconds()
	f, err := operate.ParseFilter(o.lab, o.channel, o.states, o.reason, before)
	if err != nil {
		return err //nolint:wrapcheck // a sentence for people
	}
	matched, err := countJobs(ctx, desk, out, a, f)
	if err != nil || o.dryRun || matched == 0 {
		return err
	}
	var sum operate.Step
	for {
		step, err := desk.Apply(ctx, a, f, sum.Next)
		sum.Done, sum.Requested, sum.Left = sum.Done+step.Done, sum.Requested+step.Requested, sum.Left+step.Left
		sum.Looked, sum.Next = sum.Looked+step.Looked, step.Next
		if err != nil {
			return fmt.Errorf("after %d jobs, run it again to go on: %w", sum.Done, err)
		}
		fmt.Fprintf(out, "%s: %d done, %d asked to end, %d changed meanwhile, of %d\n", a, sum.Done, sum.Requested, sum.Left, matched)
		if step.Next == "" {
			return nil
		}
	}
}

const shownIDs = 10

// countJobs prints what the action would be done to.
func countJobs(
	ctx context.Context,
	desk *operate.Operator,
	out io.Writer,
	a operate.Action,
	f operate.Filter,
) (matched int, err error) {
	cursor, shown, looked := "", 0, 0
	for {
		p, err := desk.Preview(ctx, a, f, cursor)
		if err != nil {
			return matched, err //nolint:wrapcheck // a sentence for people
		}
		for _, id := range p.First {
			if shown++; shown <= shownIDs {
				fmt.Fprintln(out, id)
			}
		}
		matched, looked = matched+p.Matched, looked+p.Looked
		if cursor = p.Next; cursor == "" {
			fmt.Fprintf(out, "%s: %d jobs of %d looked at\n", a, matched, looked)
			return matched, nil
		}
	}
}

// pauseVerb pauses or resumes a part of the queue.
func pauseVerb(environ []string, out io.Writer, paused bool) command.Verb {
	var channel, receiver string
	var lab int64
	v := command.Verb{
		Name:    "pause",
		Summary: "Leave a channel, a laboratory or a receiver alone until it is resumed; without flags show what is paused.",
		Details: "What runs ends as usual, and tasks are accepted. The pause outlives restarts.",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&channel, "channel", "", "a channel, with the jobs of all laboratories")
			f.Int64Var(&lab, "lab", 0, "a laboratory, with its jobs of all channels")
			f.StringVar(&receiver, "receiver", "", "a receiver of webhooks and callbacks, such as https://api.example.com")
		},
		Run: func(ctx context.Context, _ []string) error {
			return withOperator(ctx, environ, func(desk *operate.Operator) error {
				if channel == "" && lab == 0 && receiver == "" {
					return showPauses(ctx, desk, out)
				}
				target, err := operate.ParseTarget(channel, lab, receiver)
				if err != nil {
					return err //nolint:wrapcheck // a sentence for people
				}
				if paused {
					return desk.Pause(ctx, target) //nolint:wrapcheck // a sentence for people
				}
				return desk.Resume(ctx, target) //nolint:wrapcheck // a sentence for people
			})
		},
	}
	if !paused {
		v.Name, v.Summary, v.Details = "resume", "End the pause of a channel, a laboratory or a receiver.", ""
	}
	return v
}

func showPauses(ctx context.Context, desk *operate.Operator, out io.Writer) error {
	o, err := desk.Overview(ctx)
	if err != nil {
		return err //nolint:wrapcheck // a sentence for people
	}
	fmt.Fprintf(out, "%d pauses\n", len(o.Paused))
	for target, since := range o.Paused {
		fmt.Fprintf(out, "%s\tsince %s\n", target, moment(since.UnixMilli()))
	}
	return nil
}
