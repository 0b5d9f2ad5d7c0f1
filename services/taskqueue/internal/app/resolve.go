package app

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/command"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

// resolveVerb ends unknown jobs by what a person found out at the provider.
func resolveVerb(environ []string, out io.Writer) command.Verb {
	var sent, notSent bool
	return command.Verb{
		Name:    "resolve",
		Args:    "-sent|-not-sent ID ...",
		Summary: "Say of jobs in state unknown whether they were sent.",
		Details: "Look the message up at the provider first. -sent ends the job as finished. -not-sent ends it as failed, and\n" +
			"retryTask can revive it. Both tell those who subscribed to the job's result.",
		Flags: func(f *flag.FlagSet) {
			f.BoolVar(&sent, "sent", false, "the provider has sent the message")
			f.BoolVar(&notSent, "not-sent", false, "the provider has not sent it")
		},
		Run: func(ctx context.Context, ids []string) error {
			if sent == notSent || len(ids) == 0 {
				return errors.New("say -sent or -not-sent, and the ids of the jobs")
			}
			return withQueue(ctx, environ, func(q *engine.Redis) error { return resolve(ctx, q, out, ids, sent) })
		},
	}
}

// managerOf manages jobs beside the running services.
func managerOf(q *engine.Redis) *manage.Manager {
	generator := job.NewGenerator(clock.System{}, rand.Reader)
	return manage.New(manage.Deps{Queue: q, Lease: q.Lease(), Clock: clock.System{},
		Callbacks: func(id job.ID, b *job.Body, r *job.Record) ([]engine.NewJob, error) {
			return worker.Callbacks(generator, id, b, r)
		}})
}

func resolve(ctx context.Context, q *engine.Redis, out io.Writer, ids []string, sent bool) error {
	m := managerOf(q)
	left := 0
	for chunk := range slices.Chunk(ids, manage.MaxIDs) {
		resolved, others, err := m.Resolve(ctx, manage.Viewer{All: true}, chunk, sent)
		for _, id := range resolved {
			fmt.Fprintf(out, "%s\tresolved\n", id)
		}
		for _, id := range others {
			fmt.Fprintf(out, "%s\tnot in state unknown\n", id)
		}
		if err != nil {
			return err //nolint:wrapcheck // a sentence for people
		}
		left += len(others)
	}
	if left > 0 {
		return fmt.Errorf("%d of %d jobs are not in state unknown", left, len(ids))
	}
	return nil
}
