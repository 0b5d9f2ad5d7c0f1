// Package operate owns what the people who run the platform see of the queue as a whole, and what they do to it: lanes,
// searches, one job's life, what is scheduled ahead; pauses, and actions on many jobs in bounded steps. The page at
// /queue-admin/ and the verbs of the command line are two ways to the same orders. Nothing here shows what a job
// carries, unless a setting allows it: payloads are of patients, operators need none.
package operate

import (
	"context"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Queue is the part of the engine that operators need.
type Queue interface {
	engine.Measured
	Browse(ctx context.Context, x engine.Range, after engine.Member, most int) ([]engine.Member, error)
	Ahead(ctx context.Context, shard int, l job.Lane, first time.Time, hours int) (engine.Ahead, error)
	TrimDead(ctx context.Context, shard int, list []engine.Member) (int64, error)
	Pause(ctx context.Context, t engine.Target, at time.Time) error
	Resume(ctx context.Context, t engine.Target) error
}

// Keeper archives dead jobs before they are deleted.
type Keeper interface {
	Keep(ctx context.Context, ids []job.ID) error
}

// everybody is who an operator may look at: the jobs of all laboratories.
var everybody = task.Caller{Internal: true}

// Operator runs the use cases. Safe for concurrent use.
type Operator struct {
	Queue        Queue
	Jobs         *manage.Jobs
	Keeper       Keeper            // nil: there is no archive
	Providers    func() []Provider // nil: unknown
	Clock        clock.Clock
	Audit        *slog.Logger // who did what to how many jobs, and why
	ShowPayloads bool         // of one job's life
}
