package service

import (
	"database/sql"
	"fmt"
	"math/rand/v2"

	"github.com/labplatform/labplatform/pkg/outbox"
)

// Outbox adds the relay of the outbox table with this name. receivers returns the delivery functions by kind of
// message.
func (s *Service) Outbox(
	cfg outbox.Config, db *sql.DB, name string, receivers func(outbox.Table) map[string]outbox.Deliver,
) (*outbox.Relay, error) {
	table, err := outbox.NewTable(name)
	if err != nil {
		return nil, fmt.Errorf("outbox table: %w", err)
	}
	relay := outbox.NewRelay(outbox.Deps{
		Config:    cfg,
		DB:        db,
		Table:     table,
		Receivers: receivers(table),
		Clock:     s.Clock,
		Jitter:    rand.Float64,
		Log:       s.Log,
		Metrics:   outbox.NewMetrics(s.Registry),
		Tracers:   s.Tracers(),
	})
	s.Loop("outbox relay", relay.Run)
	return relay, nil
}
