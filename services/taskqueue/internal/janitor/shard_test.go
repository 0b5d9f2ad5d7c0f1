package janitor_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// sharded is an engine whose first shard does not respond. All jobs are on the second one.
type sharded struct{ *enginetest.Model }

func (s sharded) OldestEnds(ctx context.Context, shard, most int) (engine.Ends, error) {
	if shard == 0 {
		return engine.Ends{}, errors.New("connection refused")
	}
	return s.Model.OldestEnds(ctx, shard-1, most)
}

func (s sharded) TrimEnds(ctx context.Context, shard int, e engine.Ends) (bool, error) {
	return s.Model.TrimEnds(ctx, shard-1, e)
}

func TestAShardThatDoesNotAnswerKeepsNoOtherFromTheArchive(t *testing.T) {
	t.Parallel()
	q, ids := openEnds(t)
	want := end(t, q, ids, 30)
	s := &shelf{rows: map[job.ID]job.Record{}}
	a := &janitor.Archive{Queue: sharded{q}, Store: s, Observer: archived{}, Clock: clock.System{},
		Log: slog.New(slog.DiscardHandler), Age: time.Hour}
	if err := a.RunOnce(t.Context(), every); err == nil {
		t.Error("no one hears of the shard that does not answer")
	}
	if len(s.rows) != len(want) {
		t.Errorf("%d of %d ends are in the archive", len(s.rows), len(want))
	}
}
