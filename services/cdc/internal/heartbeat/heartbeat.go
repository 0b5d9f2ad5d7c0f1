// Package heartbeat measures the freshness of the pipeline. Each connector regularly updates its own row of
// cdc_heartbeat, and this heartbeat travels like every other change. Its arrival alone does not prove that earlier
// changes are processed: they may still wait in other partitions or processes. It counts once the consumer group has
// processed all records that the partitions had when it arrived.
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

// Jumps stores which connectors lost their position in the binlog and started at a new one.
type Jumps interface {
	// Landed ends a jump of the connector, if there is one, with a heartbeat written after the new position: a full resync
	// covers the changes before it, and later changes arrive as events. The error is a fault.
	Landed(ctx context.Context, connector string, beatAt time.Time) (bool, error)
}

// WatchRow is the row of cdc_heartbeat with the service's own counter. Each connector captures every number. A missing
// number shows that the connector skipped changes: its offset was moved, or records were removed.
const WatchRow = "watch"

// Watch stores the last number that each connector captured.
type Watch interface {
	// Seen stores a number and reports whether earlier numbers are missing. If so, a full resync starts when the
	// connector's next heartbeat arrives. The error is a fault.
	Seen(ctx context.Context, connector string, number int64) (missing bool, err error)
}

// Sink processes heartbeats: it ends jumps and passes heartbeats to a Watermark.
type Sink struct {
	Watermark *Watermark
	Jumps     Jumps
	Watch     Watch
	Lost      func(connector string) // counts lost positions
	Log       *slog.Logger
}

// Apply processes a batch. Of each connector's heartbeats, only the newest is used.
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

// count stores a captured number of WatchRow.
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

// carried is a row of cdc_heartbeat as captured by one connector. The value is a time in epoch milliseconds, or a
// number for WatchRow.
type carried struct {
	row, carrier string
	value        int64
}

// read decodes a heartbeat. The outcome is Applied only for a connector's own row, captured by that connector.
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
