package archive_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/archive"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/model"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// sharded is an engine whose first shard does not answer; all jobs are on the second one.
type sharded struct{ *model.Model }

func (s sharded) Lead(ctx context.Context, shard int, w engine.Work, owner string, d time.Duration) (int64, error) {
	if shard == 0 {
		return 0, errors.New("connection refused")
	}
	return s.Model.Lead(ctx, 0, w, owner, d)
}

func (s sharded) OldestEnds(ctx context.Context, shard, most int) (engine.Ends, error) {
	return s.Model.OldestEnds(ctx, shard-1, most)
}

func (s sharded) TrimEnds(ctx context.Context, shard int, e engine.Ends) (bool, error) {
	return s.Model.TrimEnds(ctx, shard-1, e)
}

func TestAShardThatDoesNotAnswerKeepsNoOtherFromTheArchive(t *testing.T) {
	t.Parallel()
	q, ids := open(t)
	want := end(t, q, ids, 30)
	s := &shelf{rows: map[job.ID]job.Record{}}
	a := archive.New(archive.Deps{Queue: sharded{q}, Store: s, Observer: counter{}, Clock: clock.System{},
		Log: slog.New(slog.DiscardHandler), Owner: "a", Age: time.Hour})
	if err := a.RunOnce(t.Context()); err == nil {
		t.Error("nobody hears of the shard that does not answer")
	}
	if len(s.rows) != len(want) {
		t.Errorf("%d of %d ends are in the archive", len(s.rows), len(want))
	}
}
