// Package operate contains the operators' view of the whole queue and their actions: lanes, searches, the history of
// one job, the schedule, pauses, and actions on many jobs in steps of limited size. The page at /queue-admin/ and the
// command line use the same orders. Payloads contain patient data and are shown only if a setting allows it.
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

// Queue is the part of the engine used by operators.
type Queue interface {
	engine.Measured
	Browse(ctx context.Context, x engine.Range, after engine.Member, most int) ([]engine.Member, error)
	Ahead(ctx context.Context, shard int, l job.Lane, first time.Time, hours int) (engine.Ahead, error)
	TrimDead(ctx context.Context, shard int, list []engine.Member) (int64, error)
	Pause(ctx context.Context, t engine.Target, at time.Time) error
	Resume(ctx context.Context, t engine.Target) error
}

// Keeper archives dead letters before they are deleted.
type Keeper interface {
	Keep(ctx context.Context, ids []job.ID) error
}

// everybody is a caller that may read the jobs of all laboratories.
var everybody = task.Caller{Internal: true}

// Operator runs the use cases. It is safe for concurrent use.
type Operator struct {
	Queue        Queue
	Jobs         *manage.Jobs
	Keeper       Keeper            // nil without an archive
	Providers    func() []Provider // nil: providers are unknown
	Clock        clock.Clock
	Audit        *slog.Logger // logs the operator, the reason and the number of changed jobs
	ShowPayloads bool         // in the history of a job
}
