package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	elasticstore "github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

// stores are what a verb works on.
type stores struct {
	db     *sql.DB
	rows   *mysql.Store
	client *elastic.Client
	index  *elasticstore.Store
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
	phases := phase.New(phase.Deps{Schema: mysql.NewSchema(db), Walk: noWalk{}, Override: phase.Phase(cfg.PhaseOverride), Interval: phase.DefaultInterval,
		Log: slog.New(slog.DiscardHandler)})
	return &stores{db: db, rows: mysql.New(mysql.Deps{DB: db, Clock: clock.System{}, Phases: phases}), client: client,
		index: elasticstore.New(client, cfg.Index)}, nil
}

func (s *stores) close() {
	_ = s.client.Close()
	_ = s.db.Close()
}

// noWalk leaves the walk over all patients to the service.
type noWalk struct{}

// Restart implements phase.Walk.
func (noWalk) Restart(context.Context) error { return nil }

// unobserved counts nothing: a verb has no metrics.
type unobserved struct{}

// Recomputed implements materialize.Observer.
func (unobserved) Recomputed(int, int, int) {}

// Early implements materialize.Observer.
func (unobserved) Early(int) {}

// Late implements materialize.Observer.
func (unobserved) Late(int) {}

// Sent implements indexsync.Observer.
func (unobserved) Sent(int, time.Duration) {}

// Resent implements indexsync.Observer.
func (unobserved) Resent(int, string) {}
