// Package heartbeat owns how fresh the pipeline is known to be. Each connector beats its own row of cdc_heartbeat, and
// the beat travels the same way as every change. A beat that arrived proves nothing yet: changes before it may wait in
// other partitions, with other processes. It counts when the consumer group has done all that those held when it came.
package heartbeat

import (
	"context"
	"log/slog"
	"time"

	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

// Jumps knows of connectors that lost their place and began to read at a new one.
type Jumps interface {
	// Landed ends a jump of the connector, if it has one, by a beat that was written behind it: what changed before that
	// beat is computed again, what changes later comes as events. The error is a fault.
	Landed(ctx context.Context, connector string, beatAt time.Time) (bool, error)
}

// WatchRow is the row of cdc_heartbeat in which the service itself counts. Each connector carries every number, so one
// that is missing shows that the connector left changes out: its offset was moved, or records were removed.
const WatchRow = "watch"

// Watch knows the last number that each connector carried.
type Watch interface {
	// Seen notes a number. It returns whether numbers before it are missing; then every patient is computed again, once
	// the connector's next beat has come. The error is a fault.
	Seen(ctx context.Context, connector string, number int64) (missing bool, err error)
}

// Sink takes the beats, ends jumps by them, and offers them to a Watermark.
type Sink struct {
	Watermark *Watermark
	Jumps     Jumps
	Watch     Watch
	Lost      func(connector string) // counts
	Log       *slog.Logger
}

// Apply implements consume.Sink: the newest beat of each connector counts.
func (s *Sink) Apply(ctx context.Context, batch []change.Record) ([]outcome.Result, error) {
	results := make([]outcome.Result, len(batch))
	newest := map[string]int{}
	for i, record := range batch {
		b, result := read(record)
		results[i] = result
		if b.row == WatchRow && b.carrier != "" {
			if err := s.count(ctx, b); err != nil {
				return nil, err
			}
		}
		if result.Kind != outcome.Applied {
			continue
		}
		connector, at := b.carrier, time.UnixMilli(b.value)
		if before, ok := newest[connector]; ok {
			results[before] = outcome.Result{Kind: outcome.Coalesced}
		}
		newest[connector] = i
		if err := s.land(ctx, connector, at); err != nil {
			return nil, err
		}
		s.Watermark.Offer(connector, at)
	}
	return results, nil
}

// count notes a number of the service's own row, which both connectors carry.
func (s *Sink) count(ctx context.Context, b carried) error {
	missing, err := s.Watch.Seen(ctx, b.carrier, b.value)
	if missing {
		s.Lost(b.carrier)
		s.Log.ErrorContext(ctx, "a connector left changes out; all patients are computed again", "connector", b.carrier)
	}
	return err
}

func (s *Sink) land(ctx context.Context, connector string, at time.Time) error {
	landed, err := s.Jumps.Landed(ctx, connector, at)
	if landed {
		s.Log.Warn("a connector reads from a new place on; all patients are computed again", "connector", connector)
	}
	return err
}

// carried is a row of cdc_heartbeat from one connector: the value is a time in milliseconds, that of WatchRow a
// number.
type carried struct {
	row, carrier string
	value        int64
}

// read returns a beat. It is applied when its row is that of the connector which carried it.
func read(record change.Record) (carried, outcome.Result) {
	c, err := envelope.Decode(record)
	switch {
	case err != nil:
		return carried{}, outcome.Died("decode", "malformed", err)
	case c.Tombstone:
		return carried{}, outcome.Skip("tombstone")
	case c.After == nil:
		return carried{}, outcome.Skip("no_row")
	}
	row, value, err := envelope.Beat(c.After)
	if err != nil {
		return carried{}, outcome.Died("decode", "malformed", err)
	}
	b := carried{row: row, carrier: record.Header(connectors.CarrierHeader), value: value}
	if b.carrier != b.row {
		return b, outcome.Skip("foreign_beat")
	}
	return b, outcome.Result{Kind: outcome.Applied}
}
