package app

import (
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os/user"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/operate"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/mysql"
)

// desk is where the verbs of operators work, beside running services.
type desk struct {
	environ []string
	out     io.Writer
	journal operate.Journal

	queue    *engine.Redis
	jobs     *api.Jobs
	operator *operate.Operator
}

func newDesk(environ []string, out, log io.Writer) *desk {
	return &desk{environ: environ, out: out, journal: operate.Journal{Log: slog.New(slog.NewTextHandler(log, nil))}}
}

// sign adds the flags that say who acts and why.
func (d *desk) sign(f *flag.FlagSet) {
	who := "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = u.Username
	}
	f.StringVar(&d.journal.Operator, "operator", who, "who you are, in one word, for the log")
	f.StringVar(&d.journal.Ticket, "ticket", "", "why, in one word such as INC-42, for the log")
}

// signed opens the desk for a verb that changes something, which the log tells of.
func (d *desk) signed(do func() error) error {
	if wrong := d.journal.Check(); len(wrong) > 0 {
		return apperr.InvalidFields(wrong...)
	}
	return d.open(do)
}

// open connects to the queue, and to the archive where there is one, until do returns.
func (d *desk) open(do func() error) error {
	cfg, err := Load(d.environ)
	if err != nil {
		return err
	}
	client := redis.NewUniversalClient(cfg.redis())
	defer func() { _ = client.Close() }()
	if d.queue, err = engine.New(engine.Config{Client: client, Bells: client, Settings: cfg.engine()}); err != nil {
		return err
	}
	var archive api.Archive
	deps := operate.Deps{Queue: d.queue, Clock: clock.System{}}
	if cfg.DatabaseEnabled {
		db, err := mysqldb.Open(cfg.DB, nil)
		if err != nil {
			return fmt.Errorf("open database: %w", err)
		}
		defer func() { _ = db.Close() }()
		store := mysql.NewArchive(db)
		archive = store
		deps.Keeper = janitor.NewArchive(janitor.ArchiveDeps{Queue: d.queue, Store: store, Observer: uncounted{},
			Clock: clock.System{}, Log: d.journal.Log})
	}
	d.jobs = jobsOf(d.queue, archive, d.queue.Lease(), job.NewGenerator(clock.System{}, rand.Reader))
	deps.Jobs = d.jobs
	d.operator = operate.New(deps)
	return do()
}

// uncounted is the observer of a process without metrics.
type uncounted struct{}

func (uncounted) Archived(string, int) {}
