package load

import (
	"slices"
	"sync"
	"time"
)

// Paced starts the given number of calls at an even pace, whether or not earlier calls were answered, and returns the
// duration of each since it was due, so that waiting for a free caller counts. It fails with the first error of a call.
func Paced(calls int, perSecond float64, call func(i int) error) ([]time.Duration, error) {
	interval := time.Duration(float64(time.Second) / perSecond)
	taken, errs := make([]time.Duration, calls), make([]error, calls)
	var all sync.WaitGroup
	start := time.Now()
	for i := range calls {
		due := start.Add(time.Duration(i) * interval)
		time.Sleep(time.Until(due))
		all.Go(func() {
			errs[i] = call(i)
			taken[i] = time.Since(due)
		})
	}
	all.Wait()
	if first := slices.IndexFunc(errs, func(err error) bool { return err != nil }); first >= 0 {
		return nil, errs[first]
	}
	return taken, nil
}

// Quantile returns the given quantile, 0 to 1, of the durations in milliseconds.
func Quantile(taken []time.Duration, share float64) float64 {
	sorted := slices.Sorted(slices.Values(taken))
	return Milliseconds(sorted[min(len(sorted)-1, int(float64(len(sorted))*share))])
}

// Milliseconds converts a duration into the unit of the metrics.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
