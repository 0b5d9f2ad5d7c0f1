package app

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

// bulkVerb applies an action to many jobs, through the use cases of the queue's page.
func (d *desk) bulkVerb() cli.Verb {
	o := &d.order
	var age time.Duration
	var dryRun bool
	return cli.Verb{
		Name:    "bulk",
		Args:    "[flags] cancel|retry|delete|sent|not_sent",
		Summary: "Cancel, retry, delete or resolve many jobs by laboratory, channel, state, reason and age.",
		Details: "Name a laboratory or a channel. The jobs are counted first, then changed in steps of 500, which are printed; jobs that\n" +
			"come meanwhile are skipped, and a verb that was interrupted may be run again. cancel: waiting jobs end, running ones are\n" +
			"asked to. retry: failed jobs run again in two minutes. delete: failed and unknown jobs are forgotten after the archive took\n" +
			"how they ended. sent, not_sent: unknown jobs end by what was found out at the provider.",
		Flags: func(f *flag.FlagSet) {
			f.Int64Var(&o.LabID, "lab", 0, "only jobs of this laboratory")
			f.StringVar(&o.Channel, "channel", "", "only jobs of this channel")
			f.StringVar(&o.States, "state", "", "only jobs in these states, with commas; empty: every state that the action fits")
			f.StringVar(&o.Reason, "reason", "", "only jobs whose last failure has this reason, or one that begins so")
			f.DurationVar(&age, "older-than", 0, "only jobs that were accepted so long ago, such as 90m")
			f.BoolVar(&dryRun, "dry-run", false, "count, show ten ids, and change nothing")
			d.sign(f)
		},
		Run: d.opened(func(ctx context.Context, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%w: name one action", cli.ErrUsage)
			}
			o.Action = operate.Action(args[0])
			o.CreatedBeforeMs = clock.System{}.Now().UnixMilli() + 1 - age.Milliseconds()
			matched, err := d.countJobs(ctx)
			if err != nil || dryRun || matched == 0 {
				return err
			}
			return d.bulk(ctx, matched)
		}),
	}
}

func (d *desk) bulk(ctx context.Context, matched int) error {
	var sum operate.Step
	for x := d.order; ; {
		step, err := d.operator.Apply(ctx, x)
		sum.Done, sum.Requested, sum.Left = sum.Done+step.Done, sum.Requested+step.Requested, sum.Left+step.Left
		if err != nil {
			return fmt.Errorf("after %d jobs, run it again to continue: %w", sum.Done, err)
		}
		fmt.Fprintf(d.out, "%s: %d done, %d asked to end, %d changed meanwhile, of %d\n", x.Action, sum.Done, sum.Requested,
			sum.Left, matched)
		if x.Cursor = step.Next; x.Cursor == "" {
			return nil
		}
	}
}

// countJobs prints how many jobs the action would change.
func (d *desk) countJobs(ctx context.Context) (matched int, err error) {
	looked := 0
	for x := d.order; ; {
		p, err := d.operator.Preview(ctx, x)
		if err != nil {
			return matched, err
		}
		if matched == 0 {
			for _, id := range p.First {
				fmt.Fprintln(d.out, id)
			}
		}
		matched, looked = matched+p.Matched, looked+p.Looked
		if x.Cursor = p.Next; x.Cursor == "" {
			fmt.Fprintf(d.out, "%s: %d jobs of %d checked\n", x.Action, matched, looked)
			return matched, nil
		}
	}
}

// pauseVerb pauses or resumes a part of the queue.
func (d *desk) pauseVerb(paused bool) cli.Verb {
	o := &d.order
	v := cli.Verb{
		Name:    "pause",
		Summary: "Leave a channel, a laboratory or a receiver alone until it is resumed; without flags show what is paused.",
		Details: "What runs ends as usual, and tasks are accepted. The pause outlives restarts.",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&o.Channel, "channel", "", "a channel, with the jobs of all laboratories")
			f.Int64Var(&o.LabID, "lab", 0, "a laboratory, with its jobs of all channels")
			f.StringVar(&o.Receiver, "receiver", "", "a receiver of webhooks and callbacks, such as https://api.example.com")
			d.sign(f)
		},
		Run: d.opened(func(ctx context.Context, _ []string) error {
			if paused && o.Channel == "" && o.LabID == 0 && o.Receiver == "" {
				return d.showPauses(ctx)
			}
			o.Paused = paused
			_, err := d.operator.Pause(ctx, *o)
			return err
		}),
	}
	if !paused {
		v.Name, v.Summary, v.Details = "resume", "End the pause of a channel, a laboratory or a receiver.", ""
	}
	return v
}

func (d *desk) showPauses(ctx context.Context) error {
	paused, err := d.queue.Paused(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d pauses\n", len(paused))
	for target, since := range paused {
		fmt.Fprintf(d.out, "%s\tsince %s\n", target, moment(since.UnixMilli()))
	}
	return nil
}
