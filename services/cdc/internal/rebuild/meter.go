package rebuild

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
)

const sayEvery = 2 * time.Second

// meter prints the progress of a fill.
type meter struct {
	out   io.Writer
	clock clock.Clock
	about int64 // total number of patients; 0 if unknown

	mu    sync.Mutex
	done  int64     // guarded by mu
	begin time.Time // guarded by mu
	said  time.Time // guarded by mu
}

func newMeter(out io.Writer, clk clock.Clock, about int64) *meter {
	now := clk.Now()
	return &meter{out: out, clock: clk, about: about, begin: now, said: now}
}

func (m *meter) add(patients int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += int64(patients)
	now := m.clock.Now()
	if now.Sub(m.said) < sayEvery {
		return
	}
	m.said = now
	rate := m.rate(now)
	if m.about > m.done && rate >= 1 {
		left := time.Duration(float64(m.about-m.done) / rate * float64(time.Second)).Round(time.Second)
		fmt.Fprintf(m.out, "%d of about %d patients, %.0f/s, %s left\n", m.done, m.about, rate, left)
		return
	}
	fmt.Fprintf(m.out, "%d patients, %.0f/s\n", m.done, rate)
}

func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	fmt.Fprintf(m.out, "filled %d patients in %s, %.0f/s\n", m.done, now.Sub(m.begin).Round(time.Millisecond),
		m.rate(now))
}

// rate returns patients per second; the caller holds mu.
func (m *meter) rate(now time.Time) float64 {
	return float64(m.done) / max(now.Sub(m.begin).Seconds(), 0.001)
}
