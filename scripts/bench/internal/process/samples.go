package process

import (
	"context"
	"sync"
	"time"
)

// Samples holds samples of a figure, one per second, in MiB.
type Samples struct {
	minutes, mib []float64
}

// Watch takes samples until stop is called; they may be read afterwards only.
func Watch(ctx context.Context, read func() float64) (s *Samples, stop func()) {
	s = &Samples{}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	begin := time.Now()
	done.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				s.minutes = append(s.minutes, time.Since(begin).Minutes())
				s.mib = append(s.mib, read())
			}
		}
	})
	return s, func() {
		cancel()
		done.Wait()
	}
}

// Last returns the last sample, 0 without any.
func (s *Samples) Last() float64 {
	if len(s.mib) == 0 {
		return 0
	}
	return s.mib[len(s.mib)-1]
}

// Slope returns the slope of the least-squares line in MiB per minute.
func (s *Samples) Slope() float64 {
	var meanX, meanY float64
	for i := range s.mib {
		meanX += s.minutes[i] / float64(len(s.mib))
		meanY += s.mib[i] / float64(len(s.mib))
	}
	var above, below float64
	for i := range s.mib {
		above += (s.minutes[i] - meanX) * (s.mib[i] - meanY)
		below += (s.minutes[i] - meanX) * (s.minutes[i] - meanX)
	}
	if below == 0 {
		return 0
	}
	return above / below
}
