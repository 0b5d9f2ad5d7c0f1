package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
)

// resolveVerb ends jobs in state unknown with the outcome that an operator has confirmed with the provider.
func (d *desk) resolveVerb() cli.Verb {
	var sent, notSent bool
	return cli.Verb{
		Name:    "resolve",
		Args:    "-sent|-not-sent ID ...",
		Summary: "Say of jobs in state unknown whether they were sent.",
		Details: "Look the message up at the provider first. -sent ends the job as finished. -not-sent ends it as failed, and\n" +
			"retryTask can revive it. Both notify the subscribers of the job's result.",
		Flags: func(f *flag.FlagSet) {
			f.BoolVar(&sent, "sent", false, "the provider has sent the message")
			f.BoolVar(&notSent, "not-sent", false, "the provider has not sent it")
			d.sign(f)
		},
		Run: d.opened(func(ctx context.Context, ids []string) error {
			if sent == notSent || len(ids) == 0 {
				return errors.New("say -sent or -not-sent, and the ids of the jobs")
			}
			d.order.Action = operate.Sent
			if notSent {
				d.order.Action = operate.NotSent
			}
			return d.resolve(ctx, ids)
		}),
	}
}

func (d *desk) resolve(ctx context.Context, ids []string) error {
	left := 0
	for d.order.IDs = range slices.Chunk(ids, manage.MaxIDs) {
		c, err := d.operator.Change(ctx, d.order)
		for _, id := range c.Done {
			fmt.Fprintf(d.out, "%s\tresolved\n", id)
		}
		for _, id := range c.Others {
			fmt.Fprintf(d.out, "%s\tnot in state unknown\n", id)
		}
		if err != nil {
			return err
		}
		left += len(c.Others)
	}
	if left > 0 {
		return fmt.Errorf("%d of %d jobs are not in state unknown", left, len(ids))
	}
	return nil
}
