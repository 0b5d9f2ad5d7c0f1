package search

import (
	"context"

	"github.com/labplatform/labplatform/scripts/bench/internal/process"
)

// memory measures the service's memory under the steady rate.
func (b *bench) memory(ctx context.Context) error {
	pid := b.sandbox.PID("search")
	samples, stop := process.Watch(ctx, func() float64 {
		mib, _ := process.RSS(pid) // 0 after the process has ended; its searches then fail
		return mib
	})
	searches := b.mix.draw(warmSeed, int(b.sizes.memory.Seconds()*ratePerSecond))
	_, err := atRate(ctx, searches, ratePerSecond, b.remote.ask)
	stop()
	if err != nil {
		return err
	}
	peak, err := process.PeakRSS(pid)
	b.report.Progress(
		"memory of the service after %s: %.1f MiB, %+.1f MiB a minute",
		b.sizes.memory,
		samples.Last(),
		samples.Slope(),
	)
	b.report.Lower("rss_mib_max", "MiB", []float64{peak}, "", nil)
	b.report.Lower("rss_slope_mib_per_minute", "MiB/min", []float64{samples.Slope()}, "", nil)
	return err
}
