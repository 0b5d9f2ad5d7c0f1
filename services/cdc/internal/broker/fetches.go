package broker

import (
	"sync/atomic"

	"github.com/rcrowley/go-metrics"
)

// fetchMeter is the client's name of the meter that it marks for each request for records.
const fetchMeter = "consumer-fetch-rate"

// fetches counts the requests for records of this process: they have no callback. The client unregisters its meters
// whenever one of its connections closes, idle ones too, and open connections count on in a meter that no one sees; so
// this registry gives all connections one counter, for as long as it lives.
type fetches struct {
	metrics.Registry // of everything else
	sent             counter
}

var _ metrics.Registry = (*fetches)(nil)

func newFetches() *fetches { return &fetches{Registry: metrics.NewRegistry()} }

// count is how many requests were sent.
func (f *fetches) count() int64 { return f.sent.Count() }

// GetOrRegister returns the counter under its name.
func (f *fetches) GetOrRegister(name string, metric any) any {
	if name == fetchMeter {
		return &f.sent
	}
	return f.Registry.GetOrRegister(name, metric)
}

// counter is a meter of which only the count is asked.
type counter struct {
	metrics.NilMeter
	n atomic.Int64
}

var _ metrics.Meter = (*counter)(nil)

// Mark counts n more.
func (c *counter) Mark(n int64) { c.n.Add(n) }

// Count is the sum of all marks.
func (c *counter) Count() int64 { return c.n.Load() }
