// Package heartbeat owns how fresh the pipeline is known to be: each connector beats its own row of cdc_heartbeat, the
// beat travels the same way as every change, and its arrival is kept in cdc_progress.
package heartbeat

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Progress keeps how far the consumer has come with each connector.
type Progress interface {
	// Beat notes that everything up to beatAt is applied. An older beat changes nothing.
	Beat(ctx context.Context, connector string, beatAt, appliedAt time.Time) error
}

// Sink takes the beats.
type Sink struct {
	Progress Progress
	Clock    clock.Clock
	// Oldest returns when the oldest change that is still under way was produced: a beat that overtook it must not say
	// that it is applied.
	Oldest func() (time.Time, bool)
}

// Apply implements consume.Sink: the newest beat of each connector counts.
func (s *Sink) Apply(ctx context.Context, batch []change.Record) ([]outcome.Result, error) {
	results := make([]outcome.Result, len(batch))
	newest := map[string]int{}
	beats := make([]time.Time, len(batch))
	for i, record := range batch {
		connector, at, result := read(record)
		results[i], beats[i] = result, at
		if connector == "" {
			continue
		}
		if before, ok := newest[connector]; ok {
			results[before] = outcome.Result{Kind: outcome.Coalesced}
		}
		newest[connector] = i
	}
	for connector, i := range newest {
		at := beats[i]
		if oldest, busy := s.Oldest(); busy && oldest.Before(at) {
			at = oldest
		}
		if err := s.Progress.Beat(ctx, connector, at, s.Clock.Now()); err != nil {
			return nil, err //nolint:wrapcheck // a fault already
		}
	}
	return results, nil
}

// read returns the connector and time of a beat that its own connector carried, or the result of anything else.
func read(record change.Record) (string, time.Time, outcome.Result) {
	c, err := envelope.Decode(record)
	switch {
	case err != nil:
		return "", time.Time{}, outcome.Died("decode", "malformed", err)
	case c.Tombstone:
		return "", time.Time{}, outcome.Skip("tombstone")
	case c.After == nil:
		return "", time.Time{}, outcome.Skip("no_row")
	}
	id, beatAt, err := envelope.Beat(c.After)
	if err != nil {
		return "", time.Time{}, outcome.Died("decode", "malformed", err)
	}
	if carrier := record.Header(connectors.CarrierHeader); carrier != id {
		return "", time.Time{}, outcome.Skip("foreign_beat")
	}
	return id, time.UnixMilli(beatAt), outcome.Result{Kind: outcome.Applied}
}
