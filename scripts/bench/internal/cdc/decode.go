package cdc

import (
	"context"
	"encoding/json"
	"runtime"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/services/cdc/inprocess"
)

// decoders compares the service's decoder, which also reads the columns, with encoding/json into a map, on one core and
// on a sample of the topics' events.
func (b *bench) decoders(context.Context) error {
	events, err := b.broker.sample(max(1, int(b.events/5000)))
	if err != nil {
		return err
	}
	bytes := 0
	for _, e := range events {
		bytes += len(e.value)
	}
	b.report.Correct("event_bytes_mean", bytes/len(events))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	oursRuns, peerRuns, err := report.Alternate(b.sizes.rounds,
		func() (float64, error) {
			return perSecond(b.sizes.decode, events, func(e event) error { return inprocess.Decode(e.topic, e.value) })
		},
		func() (float64, error) {
			return perSecond(b.sizes.decode, events, func(e event) error {
				var v map[string]any
				return json.Unmarshal(e.value, &v)
			})
		})
	if err != nil {
		return err
	}
	b.report.Higher("envelope_decodes_per_second", "1/s", oursRuns, "encoding/json into map[string]any", peerRuns)
	return nil
}

// perSecond decodes the events repeatedly for at least span and returns the rate.
func perSecond(span time.Duration, events []event, decode func(event) error) (float64, error) {
	begin, done := time.Now(), 0
	for time.Since(begin) < span {
		for _, e := range events {
			if err := decode(e); err != nil {
				return 0, err
			}
		}
		done += len(events)
	}
	return float64(done) / time.Since(begin).Seconds(), nil
}
