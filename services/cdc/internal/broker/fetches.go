package broker

import (
	"sync/atomic"

	"github.com/rcrowley/go-metrics"
)

// fetchMeter is the name of sarama's meter for fetch requests.
const fetchMeter = "consumer-fetch-rate"

// fetches counts the fetch requests of this process, for which sarama has no callback. Sarama unregisters its meters
// whenever any connection closes; the other connections then count in an unregistered meter. This registry therefore
// gives all connections the same permanent counter.
type fetches struct {
	metrics.Registry // registry of all other metrics
	sent             counter
}

var _ metrics.Registry = (*fetches)(nil)

func newFetches() *fetches { return &fetches{Registry: metrics.NewRegistry()} }

// count returns the number of fetch requests sent.
func (f *fetches) count() int64 { return f.sent.Count() }

// GetOrRegister returns the counter for fetchMeter. For other names it calls the embedded registry.
func (f *fetches) GetOrRegister(name string, metric any) any {
	if name == fetchMeter {
		return &f.sent
	}
	return f.Registry.GetOrRegister(name, metric)
}

// counter is a meter that only counts.
type counter struct {
	metrics.NilMeter
	n atomic.Int64
}

var _ metrics.Meter = (*counter)(nil)

func (c *counter) Mark(n int64) { c.n.Add(n) }

func (c *counter) Count() int64 { return c.n.Load() }
