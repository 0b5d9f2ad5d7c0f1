package platform

import (
	"context"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

// samples are what all services together had, once a second.
type samples struct {
	minutes, mib []float64
}

// watch takes samples until stop is called, which must happen before they are read.
func watch(ctx context.Context, e endpoints.Endpoints) (s *samples, stop func()) {
	s = &samples{}
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
				s.mib = append(s.mib, services(e))
			}
		}
	})
	return s, func() {
		cancel()
		done.Wait()
	}
}

// services sums the memory of everything that is ours; what is not are the engines, which have no variables of a
// service.
func services(e endpoints.Endpoints) float64 {
	sum := 0.0
	for name, pid := range e.PIDs {
		if len(e.Environ[name]) == 0 {
			continue
		}
		if mib, err := process.RSS(pid); err == nil {
			sum += mib
		}
	}
	return sum
}

func (s *samples) last() float64 {
	if len(s.mib) == 0 {
		return 0
	}
	return s.mib[len(s.mib)-1]
}

// slope is that of the line of least squares, MiB a minute.
func (s *samples) slope() float64 {
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
