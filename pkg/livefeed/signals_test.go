package livefeed_test

import (
	"context"
	"testing"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/livefeed"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/redistest"
)

// atOnce runs work in the caller's goroutine and keeps its error.
type atOnce struct{ err error }

func (q *atOnce) Do(ctx context.Context, _ int64, _ string, work func(context.Context) error) {
	q.err = work(ctx)
}

func scope(t *testing.T, lab int64) authn.LabScope {
	t.Helper()
	s, err := authn.Principal{Kind: authn.Service, Caller: "callout"}.Scope(lab)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSignalReachesItsLaboratoryOnEveryReplica(t *testing.T) {
	t.Parallel()
	server, queue := redistest.Start(t), &atOnce{}
	here, there := livefeed.NewSignals(server.Client(), queue, "live"), livefeed.NewSignals(server.Client(), queue, "live")
	defer func() { _, _ = here.Close(), there.Close() }()
	signal, stop, err := there.Listen(t.Context(), scope(t, 12))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	other, stopOther, err := there.Listen(t.Context(), scope(t, 13))
	if err != nil {
		t.Fatal(err)
	}
	<-signal // discards the value that each new subscription receives
	<-other
	here.Changed(t.Context(), scope(t, 12))
	if queue.err != nil {
		t.Fatal(queue.err)
	}
	<-signal
	if len(other) != 0 {
		t.Error("another laboratory received a signal, want none")
	}
	stopOther()
	stopOther() // a second call has no effect
	server.Restart()
	await.Nil(t, "a signal after the restart", func() error {
		here.Changed(t.Context(), scope(t, 12))
		return queue.err
	})
	<-signal
}
