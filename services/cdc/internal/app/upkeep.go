package app

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/purge"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

const (
	purgeEvery = time.Hour
	// reconcileShare is the divisor of ReconcileEvery that gives the time for comparing. A sixth allows 2,500 patients per
	// second on average: 10,000 laboratories of 20,000 patients a day.
	reconcileShare = 6
)

// openReconciler starts the continuous reconciliation of sources, projection and index.
func (b *builder) openReconciler() error {
	if b.cfg.ReconcileEvery == 0 {
		return nil
	}
	loop := &reconcile.Loop{
		Observer: b.counters,
		Cursor:   b.rows,
		Indexed:  b.indexed,
		Late:     b.rows.Late,
		Clock:    b.Clock,
		Share:    b.cfg.ReconcileEvery / reconcileShare,
		Log:      b.Log,
		Reconciler: reconcile.New(reconcile.Deps{
			Rows:      b.rows,
			Scope:     mysql.Laboratory,
			Documents: b.index,
			Users:     b.users,
			Writer:    b.writer,
			Target:    b.index.Live(),
			Config:    reconcile.DefaultConfig(),
		}),
	}
	// One process stays leader until it ends, because it keeps in memory which refused patients were reported.
	b.Every("reconciler", b.cfg.ReconcileEvery, b.alone(reconcileLock, loop.RunOnce))
	return nil
}

// indexed reports whether the index should match user_meta: the migration is over and no full resync is running.
func (b *builder) indexed(ctx context.Context) (bool, error) {
	if running, err := b.phases.Running(ctx); err != nil || !running {
		return false, err
	}
	behind, err := b.rows.Behind(ctx)
	return err == nil && !behind, err
}

// alone returns a function that runs work only in the leading process, which stays leader until it ends.
func (b *builder) alone(lock mysqldb.Lock, work func(context.Context) error) func(context.Context) error {
	leader := b.leader(lock)
	return func(ctx context.Context) error {
		_, err := leader.Run(ctx, work)
		return err
	}
}

func (b *builder) leader(lock mysqldb.Lock) *mysqldb.Leader {
	leader := mysqldb.NewLeader(b.db, lock)
	b.Close("leadership: "+lock.Purpose, func(ctx context.Context) error {
		leader.Close(ctx)
		return nil
	})
	return leader
}

// openPurger starts the loop that deletes stubs for which no older event can arrive.
func (b *builder) openPurger() error {
	p := &purge.Purger{Stubs: b.index, Writer: b.writer, Clock: b.Clock, Observer: b.counters, Config: b.cfg.Purge}
	b.Every("purge", purgeEvery, b.alone(purgeLock, p.RunOnce))
	return nil
}
