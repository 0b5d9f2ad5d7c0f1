package app

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/purge"
	"github.com/labplatform/labplatform/services/cdc/internal/reconcile"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

const (
	purgeEvery = time.Hour
	// reconcileShare is which part of the time the proof may take. A sixth compares some 2,500 patients in every second of
	// the day: 10,000 laboratories of 20,000 patients.
	reconcileShare = 6
)

// openReconciler adds the continuous proof that index, projection and sources agree.
func (b *builder) openReconciler() error {
	if b.cfg.ReconcileEvery == 0 {
		return nil
	}
	loop := &reconcile.Loop{
		Observer: b.counters,
		Cursor:   b.rows,
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
			Versions:  document.RevVersions{},
			Config:    reconcile.DefaultConfig(),
		}),
	}
	// The one that leads goes on: it remembers which refused patients it told of.
	leader := mysqldb.NewLeader(b.db, reconcileLock)
	b.Close("leadership of the reconciler", func(ctx context.Context) error {
		leader.Close(ctx)
		return nil
	})
	b.Every("reconciler", b.cfg.ReconcileEvery, func(ctx context.Context) error {
		_, err := leader.Run(ctx, loop.RunOnce)
		return err
	})
	return nil
}

// openPurger deletes stubs once no event older than them can still arrive.
func (b *builder) openPurger() error {
	p := &purge.Purger{
		Stubs:    b.index,
		Writer:   b.writer,
		Versions: document.RevVersions{},
		Clock:    b.Clock,
		Observer: b.counters,
		Config:   b.cfg.Purge,
	}
	b.Every("purge", purgeEvery, func(ctx context.Context) error {
		_, err := mysqldb.Lead(ctx, b.db, purgeLock, p.RunOnce)
		return err
	})
	return nil
}
