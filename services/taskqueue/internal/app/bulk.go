package app

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

// bulkOrder is what the flags of the verb bulk select.
type bulkOrder struct {
	lab                     int64
	channel, states, reason string
	age                     time.Duration
	dryRun                  bool
}

// bulkVerb does to many jobs what the queue's page does, by the same use cases.
func (d *desk) bulkVerb() cli.Verb {
	var o bulkOrder
	return cli.Verb{
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
			d.sign(f)
		},
		Run: func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%w: name one action: %v", cli.ErrUsage, operate.Actions())
			}
			return d.signed(func() error { return d.bulk(ctx, operate.Action(args[0]), o) })
		},
	}
}

func (d *desk) bulk(ctx context.Context, a operate.Action, o bulkOrder) error {
	before := d.operator.Clock.Now().UnixMilli() + 1 - o.age.Milliseconds()
	f, err := operate.ParseFilter(o.lab, o.channel, o.states, o.reason, before)
	if err != nil {
		return err
	}
	matched, err := d.countJobs(ctx, a, f)
	if err != nil || o.dryRun || matched == 0 {
		return err
	}
	var sum operate.Step
	for {
		step, err := d.operator.Apply(ctx, a, f, sum.Next)
		d.journal.Step(ctx, a, f, step, err)
		sum.Done, sum.Requested, sum.Left = sum.Done+step.Done, sum.Requested+step.Requested, sum.Left+step.Left
		sum.Looked, sum.Next = sum.Looked+step.Looked, step.Next
		if err != nil {
			return fmt.Errorf("after %d jobs, run it again to go on: %w", sum.Done, err)
		}
		fmt.Fprintf(d.out, "%s: %d done, %d asked to end, %d changed meanwhile, of %d\n", a, sum.Done, sum.Requested, sum.Left, matched)
		if step.Next == "" {
			return nil
		}
	}
}

const shownIDs = 10

// countJobs prints what the action would be done to.
func (d *desk) countJobs(ctx context.Context, a operate.Action, f operate.Filter) (matched int, err error) {
	cursor, shown, looked := "", 0, 0
	for {
		p, err := d.operator.Preview(ctx, a, f, cursor)
		if err != nil {
			return matched, err
		}
		for _, id := range p.First {
			if shown++; shown <= shownIDs {
				fmt.Fprintln(d.out, id)
			}
		}
		matched, looked = matched+p.Matched, looked+p.Looked
		if cursor = p.Next; cursor == "" {
			fmt.Fprintf(d.out, "%s: %d jobs of %d looked at\n", a, matched, looked)
			return matched, nil
		}
	}
}

// pauseVerb pauses or resumes a part of the queue.
func (d *desk) pauseVerb(paused bool) cli.Verb {
	var channel, receiver string
	var lab int64
	v := cli.Verb{
		Name:    "pause",
		Summary: "Leave a channel, a laboratory or a receiver alone until it is resumed; without flags show what is paused.",
		Details: "What runs ends as usual, and tasks are accepted. The pause outlives restarts.",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&channel, "channel", "", "a channel, with the jobs of all laboratories")
			f.Int64Var(&lab, "lab", 0, "a laboratory, with its jobs of all channels")
			f.StringVar(&receiver, "receiver", "", "a receiver of webhooks and callbacks, such as https://api.example.com")
			d.sign(f)
		},
		Run: func(ctx context.Context, _ []string) error {
			if channel == "" && lab == 0 && receiver == "" {
				return d.open(func() error { return d.showPauses(ctx) })
			}
			target, err := operate.ParseTarget(channel, lab, receiver)
			if err != nil {
				return err
			}
			return d.signed(func() error { return d.pause(ctx, target, paused) })
		},
	}
	if !paused {
		v.Name, v.Summary, v.Details = "resume", "End the pause of a channel, a laboratory or a receiver.", ""
	}
	return v
}

func (d *desk) pause(ctx context.Context, target engine.Target, paused bool) error {
	act := d.operator.Resume
	if paused {
		act = d.operator.Pause
	}
	if err := act(ctx, target); err != nil {
		return err
	}
	d.journal.Pause(ctx, target, paused)
	return nil
}

func (d *desk) showPauses(ctx context.Context) error {
	o, err := d.operator.Overview(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d pauses\n", len(o.Paused))
	for target, since := range o.Paused {
		fmt.Fprintf(d.out, "%s\tsince %s\n", target, moment(since.UnixMilli()))
	}
	return nil
}
