package taskqueue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

// memory measures the bytes that a waiting job takes in Redis.
func (b *bench) memory(ctx context.Context) error {
	s, err := startServer(ctx, "off")
	if err != nil {
		return err
	}
	defer s.stop()
	perJob := func(e engine, jobs int) (float64, error) {
		defer e.close()
		if err := s.wipe(ctx); err != nil {
			return 0, err
		}
		before, err := s.memory(ctx)
		if err != nil {
			return 0, err
		}
		if err := e.enqueue(ctx, 0, jobs, nil); err != nil {
			return 0, err
		}
		after, err := s.memory(ctx)
		return (after - before) / float64(jobs), err
	}
	oursRuns, peerRuns, err := report.Alternate(b.sizes.rounds, func() (float64, error) {
		e, err := openOurs(ctx, s.address)
		if err != nil {
			return 0, err
		}
		return perJob(e, b.sizes.ours)
	}, func() (float64, error) { return perJob(openPeer(s.address, b.cell), b.sizes.peer) })
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	b.report.Lower("redis_bytes_per_waiting_job", "B", oursRuns, peerName, peerRuns)
	return nil
}

// backlog compares the CPU of a job, in Redis and worker together, with and without a million waiting jobs.
func (b *bench) backlog(ctx context.Context) error {
	s, err := startServer(ctx, "everysec")
	if err != nil {
		return err
	}
	defer s.stop()
	// Writing a million jobs makes Redis rewrite its file just when the measurement begins; without them it does so later.
	if err := s.client.ConfigSet(ctx, "auto-aof-rewrite-percentage", "0").Err(); err != nil {
		return fmt.Errorf("backlog: %w", err)
	}
	cost := func(waiting int) (float64, error) {
		e, err := openOurs(ctx, s.address)
		if err != nil {
			return 0, err
		}
		tomorrow := time.Now().Add(24 * time.Hour)
		m, err := b.run(ctx, s, e, b.sizes.ours, func(ctx context.Context) error {
			return e.enqueue(ctx, b.sizes.ours, waiting, func(int) time.Time { return tomorrow })
		})
		return m.redisCPU + m.goCPU, err
	}
	with, without, err := report.Alternate(b.sizes.rounds,
		func() (float64, error) { return cost(b.sizes.waiting) }, func() (float64, error) { return cost(0) })
	if err != nil {
		return fmt.Errorf("backlog: %w", err)
	}
	runs := make([]float64, len(with))
	for i := range with {
		runs[i] = 100 * (with[i]/report.Median(without) - 1)
	}
	b.report.Progress(
		"a job costs %.1f µs with %d waiting, %.1f µs without",
		report.Median(with),
		b.sizes.waiting,
		report.Median(without),
	)
	b.report.Lower("backlog_1m_cpu_overhead_percent", "%", runs, "", nil)
	return nil
}

// schedule measures how late jobs with known due times start while many others wait.
func (b *bench) schedule(ctx context.Context) error {
	s, err := startServer(ctx, "everysec")
	if err != nil {
		return err
	}
	defer s.stop()
	early := 0
	oursRuns, peerRuns, err := report.Alternate(b.sizes.rounds, func() (float64, error) {
		e, err := openOurs(ctx, s.address)
		if err != nil {
			return 0, err
		}
		late, tooEarly, err := b.lateness(ctx, s, e, b.sizes.waiting)
		early += tooEarly
		return late, err
	}, func() (float64, error) {
		// The peer needs a minute for a million waiting jobs; with a tenth of them it has an advantage.
		late, _, err := b.lateness(ctx, s, openPeer(s.address, b.cell), b.sizes.waiting/10)
		return late, err
	})
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	b.report.Lower("schedule_error_p99_ms", "ms", oursRuns, peerName, peerRuns)
	b.report.Lower("early_count", "", []float64{float64(early)}, "", nil)
	return nil
}

// lateness returns the 99th percentile of start minus due time in ms, and the number of early starts.
func (b *bench) lateness(ctx context.Context, s *server, e engine, waiting int) (p99 float64, early int, err error) {
	defer e.close()
	if err := s.wipe(ctx); err != nil {
		return 0, 0, err
	}
	jobs := b.sizes.scheduled
	tomorrow := time.Now().Add(24 * time.Hour)
	if err := e.enqueue(ctx, jobs, waiting, func(int) time.Time { return tomorrow }); err != nil {
		return 0, 0, err
	}
	seen, err := openTally(filepath.Join(b.dir, "tally"), jobs)
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(filepath.Join(b.dir, "tally"))
	defer seen.close()
	// Whole milliseconds, the resolution of the interface.
	first := time.Now().Add(time.Second).Truncate(time.Millisecond)
	due := func(i int) time.Time {
		return first.Add((b.sizes.span * time.Duration(i) / time.Duration(jobs)).Truncate(time.Millisecond))
	}
	var mu sync.Mutex
	errors := make([]float64, 0, jobs) // guarded by mu
	working, stop := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() {
		worked <- e.work(working, func(p []byte) {
			now, n := time.Now(), number(p)
			if n >= jobs {
				return
			}
			seen.add(n)
			mu.Lock()
			defer mu.Unlock()
			errors = append(errors, float64(now.Sub(due(n)).Microseconds())/1000)
		})
	}()
	if err = e.enqueue(ctx, 0, jobs, due); err == nil {
		err = seen.await(ctx, jobs)
	}
	stop()
	if workErr := <-worked; err == nil {
		err = workErr
	}
	b.count(seen, jobs)
	mu.Lock()
	defer mu.Unlock()
	if len(errors) == 0 {
		return 0, 0, err
	}
	slices.Sort(errors)
	for _, e := range errors {
		if e < 0 {
			early++
		}
	}
	return errors[len(errors)*99/100], early, err
}
