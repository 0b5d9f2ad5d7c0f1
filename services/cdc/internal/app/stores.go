package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	elasticstore "github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

// stores are the database and the index used by a verb.
type stores struct {
	db     *sql.DB
	phases *phase.Watch
	rows   *mysql.Store
	users  *materialize.Recomputer
	client *elastic.Client
	index  *elasticstore.Store
	writer *indexsync.Writer
}

func openStores(cfg Config) (*stores, error) {
	db, err := mysqldb.Open(cfg.DB, nil)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	client, err := elastic.Open(cfg.ES, elastic.Deps{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open search index: %w", err), db.Close())
	}
	phases := phase.New(phase.Deps{
		Schema:   mysql.NewSchema(db),
		Walk:     noWalk{},
		Override: phase.Phase(cfg.PhaseOverride),
		Interval: phase.DefaultInterval,
		Log:      slog.New(slog.DiscardHandler),
	})
	rows := mysql.New(mysql.Deps{DB: db, Clock: clock.System{}, Phases: phases})
	index := elasticstore.New(client, cfg.Index)
	return &stores{
		db:     db,
		phases: phases,
		rows:   rows,
		client: client,
		index:  index,
		users: materialize.NewRecomputer(materialize.Deps{Store: rows, Late: materialize.NewPostponed(clock.System{}),
			Observer: unobserved{}, Config: materialize.DefaultConfig()}),
		writer: indexsync.NewWriter(indexsync.WriterDeps{Config: cfg.Bulk, Index: index, Observer: unobserved{},
			Clock: clock.System{}, Jitter: rand.Float64}),
	}, nil
}

var errNotRunning = errors.New(
	"the rows of user_meta have no names and telephone numbers in the phase migration, so that" +
		" no index may be made of them: take CDC_PHASE_OVERRIDE away, or run cdc migrate",
)

// running returns an error unless the phase is running. In other phases rows are incomplete and must not be indexed.
func (s *stores) running(ctx context.Context) error {
	running, err := s.phases.Running(ctx)
	if err == nil && !running {
		err = errNotRunning
	}
	return err
}

// reconciler returns a Reconciler that compares rows with the index target.
func (s *stores) reconciler(target string, rows reconcile.Rows) *reconcile.Reconciler {
	return reconcile.New(reconcile.Deps{Rows: rows, Scope: mysql.Laboratory, Documents: s.index, Users: s.users,
		Writer: s.writer, Target: target, Config: reconcile.DefaultConfig()})
}

// lead runs work while holding the lock. It returns an error if another process holds it.
func (s *stores) lead(ctx context.Context, lock mysqldb.Lock, work func(context.Context) error) error {
	led, err := mysqldb.Lead(ctx, s.db, lock, work)
	switch {
	case errors.Is(err, mysqldb.ErrLeadershipLost):
		return fmt.Errorf("%w: the connection that keeps other processes from it was lost, so it was stopped;"+
			" run %s again", err, lock.Purpose)
	case err == nil && !led:
		return fmt.Errorf("another process runs %s: wait for its end", lock.Purpose)
	}
	return err
}

func (s *stores) close() {
	_ = s.client.Close()
	_ = s.db.Close()
}

// noWalk does not start full resyncs, which are started by the service only.
type noWalk struct{}

var _ phase.Walk = (*noWalk)(nil)

func (noWalk) Restart(context.Context) error { return nil }

// unobserved is an observer for verbs, which have no metrics.
type unobserved struct{}

var (
	_ indexsync.Observer   = (*unobserved)(nil)
	_ materialize.Observer = (*unobserved)(nil)
)

func (unobserved) Recomputed(int, int, int) {}

func (unobserved) Early(int) {}

func (unobserved) Late(int) {}

func (unobserved) Sent(int, time.Duration) {}

func (unobserved) Resent(int, string) {}
