package operate

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Queue is the part of the engine that operators need.
type Queue interface {
	Depths(ctx context.Context, shard int) ([]engine.Depth, error)
	Backlog(ctx context.Context, shard int) (engine.Backlog, error)
	Browse(ctx context.Context, x engine.Range, after engine.Member, most int) ([]engine.Member, error)
	Ahead(ctx context.Context, shard int, l job.Lane, first time.Time, hours int) (engine.Ahead, error)
	Info(ctx context.Context, ids []job.ID) ([]engine.Snapshot, error)
	TrimDead(ctx context.Context, shard int, list []engine.Dead) (int64, error)
	Pause(ctx context.Context, t engine.Target, at time.Time) error
	Resume(ctx context.Context, t engine.Target) error
	Paused(ctx context.Context, shard int) (map[engine.Target]time.Time, error)
	Holds(ctx context.Context) (engine.Holds, error)
}

// Jobs is what is done to jobs one by one or by their ids.
type Jobs interface {
	Info(ctx context.Context, c task.Caller, ids []string) ([]*api.Job, error)
	Cancel(ctx context.Context, c task.Caller, ids []string) (api.Changed, error)
	RetryFailed(ctx context.Context, c task.Caller, ids []string) (api.Changed, error)
	Resolve(ctx context.Context, c task.Caller, ids []string, sent bool) (api.Changed, error)
}

// Keeper archives dead jobs before they are deleted.
type Keeper interface {
	Keep(ctx context.Context, ids []job.ID) error
}

// everybody is who an operator may look at: the jobs of all laboratories.
var everybody = task.Caller{Internal: true}

// Deps are what the use cases work with.
type Deps struct {
	Queue  Queue
	Jobs   Jobs
	Keeper Keeper // nil: there is no archive
	Clock  clock.Clock
}

// Operator runs the use cases. Safe for concurrent use.
type Operator struct{ Deps }

// New makes an operator.
func New(deps Deps) *Operator { return &Operator{Deps: deps} }

func unavailable(err error) error {
	if _, known := apperr.From(err); known {
		return err
	}
	return apperr.New(apperr.Unavailable, "QUEUE_UNAVAILABLE", "The queue's Redis does not answer; the page asks again by itself").
		WithRetryAfter(5 * time.Second).WithCause(err)
}
