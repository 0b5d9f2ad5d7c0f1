package closing_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	queue "github.com/labplatform/labplatform/pkg/aftercommit"
	"github.com/labplatform/labplatform/services/rerun/internal/listing"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

// The queue runs no tasks, as if a store hangs: a confirm still returns, GET shows the closed rerun, and the next
// request begins with number 1. Tasks that run much later do not change that.
func TestAConfirmIsAnsweredBeforeItsCleanUp(t *testing.T) {
	t.Parallel()
	f := setup(t)
	metrics := queue.NewMetrics(prometheus.NewRegistry())
	later := queue.New(slog.New(slog.DiscardHandler), metrics)
	f.Cases = f.On(f.Reports, f.Documents, later)
	if err := f.confirm(rerun.Result{Index: 1, Value: "9.2"}); err != nil {
		t.Fatal(err)
	}
	scope := storetest.Scope(t, 12)
	if s := f.State(7001); s.Flag != rerun.Normal || len(s.Records) != 1 || !s.Cached {
		t.Fatalf("the clean-up was not left to the queue: %+v", s)
	}
	list, err := listing.New(f.Reports, f.Documents).List(t.Context(), scope, 7001)
	if err != nil || len(list.Values)+len(list.Open) != 0 {
		t.Fatalf("GET shows what was archived: %+v %v", list, err)
	}
	c := request.Command{ReportID: 7001, Type: rerun.Manual, Requested: []int{3}, Actor: storetest.Asha}
	if r, err := f.Request.Request(t.Context(), scope, c); err != nil || r.Number != 1 {
		t.Fatalf("the next request: %+v %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := later.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if s := f.State(7001); s.Flag != rerun.Requested || len(s.Records) != 1 || !s.Records[0].Active || !s.Cached {
		t.Fatalf("unexpected state %+v", s)
	}
}
