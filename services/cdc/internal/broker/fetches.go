package broker

import (
	"sync/atomic"

	"github.com/rcrowley/go-metrics"
)

// fetchMeter is the name of the library's meter that it marks for each fetch request.
const fetchMeter = "consumer-fetch-rate"

// fetches counts the fetch requests of this process, for which the library has no callback. The library unregisters its
// meters whenever a connection closes, even an idle one, and other connections then count in a meter that is no longer
// registered. This registry therefore gives all connections one permanent counter.
type fetches struct {
	metrics.Registry // registers all other metrics
	sent             counter
}

var _ metrics.Registry = (*fetches)(nil)

func newFetches() *fetches { return &fetches{Registry: metrics.NewRegistry()} }

// count returns the number of fetch requests sent.
func (f *fetches) count() int64 { return f.sent.Count() }

// GetOrRegister returns the counter for fetchMeter, and other metrics as the embedded registry does.
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
