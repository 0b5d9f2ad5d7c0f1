package app

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os/user"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
)

// desk holds the dependencies of the operators' commands, which run beside the service.
type desk struct {
	environ []string
	out     io.Writer
	log     *slog.Logger
	order   operate.Order // set by flags

	queue    *engine.Redis
	operator *operate.Operator
}

// sign adds the flags for the operator's name and the reason.
func (d *desk) sign(f *flag.FlagSet) {
	who := "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = u.Username
	}
	f.StringVar(&d.order.Operator, "operator", who, "who you are, in one word, for the log")
	f.StringVar(&d.order.Ticket, "ticket", "", "why, in one word such as INC-42, for the log")
}

// opened runs work with a connection to the queue and, if there is one, to the archive.
func (d *desk) opened(work func(context.Context, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		cfg, err := Load(d.environ)
		if err != nil {
			return err
		}
		client := redis.NewUniversalClient(cfg.redis())
		defer client.Close()
		d.queue = engine.New(engine.Config{Client: client, Bells: client, Settings: cfg.engine()})
		redisTime := &engine.Clock{System: clock.System{}}
		if err := redisTime.Measure(ctx, d.queue); err != nil {
			return fmt.Errorf("ask the queue's Redis: %w", err)
		}
		jobs := &manage.Jobs{Queue: d.queue, Lease: d.queue.Lease(), Clock: redisTime,
			IDs: job.NewGenerator(clock.System{})}
		d.operator = &operate.Operator{Queue: d.queue, Jobs: jobs, Clock: redisTime, Audit: d.log}
		if cfg.DatabaseEnabled {
			db, err := mysqldb.Open(cfg.DB, nil)
			if err != nil {
				return fmt.Errorf("open database: %w", err)
			}
			defer db.Close()
			store := mysql.New(db)
			jobs.Archive = store
			d.operator.Keeper = &janitor.Archive{Queue: d.queue, Store: store, Observer: uncounted{},
				Clock: clock.System{}, Log: d.log}
		}
		return work(ctx, args)
	}
}

// uncounted is an observer without metrics; it ignores all events.
type uncounted struct{}

func (uncounted) Archived(string, int) {}
