// Package taskqueue measures the queue's engine beside asynq: jobs per second through enqueue, handler and
// result record, Redis CPU and memory, schedule error, and recovery after a kill.
//
// Both engines run in this process, in turn, on the same redis-server, with the same payload and handler. Ours
// gets jobs in batches, as the REST interface does; the peer has no batches and gets 64 producers instead.
package taskqueue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

const peerName = "asynq v0.26.0"

// sizes is the amount of work.
type sizes struct {
	rounds    int // runs of each engine; an even number
	ours      int // jobs per run
	peer      int
	probe     int // jobs of a probe of one of the peer's settings; two to ten seconds
	cells     []cell
	waiting   int
	scheduled int
	span      time.Duration
	kill      int
	fair      int // webhooks of a round beside a flood, one per second
}

func chosen(quick bool) sizes {
	if quick {
		return sizes{rounds: 2, ours: 40_000, peer: 6_000, probe: 5_000, cells: []cell{{20, 16}, {50, 4}},
			waiting: 50_000, scheduled: 1_000, span: time.Second, kill: 4_000, fair: 2}
	}
	s := sizes{rounds: 4, ours: 400_000, peer: 80_000, probe: 40_000,
		waiting: 1_000_000, scheduled: 10_000, span: 10 * time.Second, kill: 20_000, fair: 20}
	for _, c := range []int{20, 50, 200, 1000} {
		for _, n := range []int{1, 4, 16, 32} {
			s.cells = append(s.cells, cell{c, n})
		}
	}
	return s
}

// Run measures everything about the task queue's engine.
func Run(ctx context.Context, r *report.Report) error {
	b := &bench{report: r, sizes: chosen(r.Quick)}
	dir, err := os.MkdirTemp("", "labbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.dir = dir
	steps := []func(context.Context) error{b.best, b.throughput, b.service, b.memory, b.backlog, b.schedule,
		b.laboratories, b.claims, b.recovery}
	if r.Quick {
		steps = []func(context.Context) error{b.best, b.throughput, b.whileLeasesRunOut, b.memory, b.backlog, b.schedule,
			b.laboratories, b.recovery}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.Correct("enqueued", b.enqueued)
	r.Correct("handled", b.handled)
	r.Correct("duplicates", b.duplicates)
	r.Correct("lost", b.lost)
	if b.lost > 0 || b.duplicates > 0 {
		return fmt.Errorf("correctness: %d jobs lost, %d ran twice without a crash", b.lost, b.duplicates)
	}
	return nil
}

type bench struct {
	report *report.Report
	sizes  sizes
	dir    string
	cell   cell     // the peer's best setting
	killed *outcome // nil before it was measured

	enqueued, handled, duplicates, lost int
}

// measured is the result of one run of one engine.
type measured struct {
	perSecond float64
	redisCPU  float64 // µs a job
	goCPU     float64 // µs a job
}

// best finds the peer's best setting by short probes.
func (b *bench) best(ctx context.Context) error {
	s, err := startServer(ctx, "everysec")
	if err != nil {
		return err
	}
	defer s.stop()
	most := 0.0
	for _, c := range b.sizes.cells {
		rate, err := b.probe(ctx, s, c)
		if err != nil {
			return err
		}
		b.report.Progress("asynq %-8s %9.0f jobs/s", c, rate)
		if rate > most {
			most, b.cell = rate, c
		}
	}
	b.report.Correct("asynq_best_cell", b.cell.String())
	return nil
}

// probe runs the peer briefly and returns its rate.
func (b *bench) probe(ctx context.Context, s *server, c cell) (float64, error) {
	m, err := b.run(ctx, s, openPeer(s.address, c), b.sizes.probe, nil)
	return m.perSecond, err
}

// throughput compares enqueue, handler and result record under the three fsync policies.
func (b *bench) throughput(ctx context.Context) error {
	for _, fsync := range []string{"always", "everysec", "off"} {
		s, err := startServer(ctx, fsync)
		if err != nil {
			return err
		}
		var cpu, peerCPU []float64
		oursRuns, peerRuns, err := report.Alternate(b.sizes.rounds, func() (float64, error) {
			e, err := openOurs(ctx, s.address)
			if err != nil {
				return 0, err
			}
			m, err := b.run(ctx, s, e, b.sizes.ours, nil)
			cpu = append(cpu, m.redisCPU)
			return m.perSecond, err
		}, func() (float64, error) {
			m, err := b.run(ctx, s, openPeer(s.address, b.cell), b.sizes.peer, nil)
			peerCPU = append(peerCPU, m.redisCPU)
			return m.perSecond, err
		})
		s.stop()
		if err != nil {
			return fmt.Errorf("throughput with fsync %s: %w", fsync, err)
		}
		name := peerName + " " + b.cell.String()
		b.report.Higher("e2e_jobs_per_second_aof_"+fsync, "1/s", oursRuns, name, peerRuns)
		if fsync == "always" {
			b.report.Lower("redis_cpu_us_per_job", "µs", cpu, name, peerCPU)
		}
	}
	return nil
}

// run enqueues jobs while the engine works and returns once all were handled. before, if not nil, is called first and
// not measured.
func (b *bench) run(
	ctx context.Context, s *server, e engine, jobs int, before func(context.Context) error,
) (measured, error) {
	defer e.close()
	if err := s.wipe(ctx); err != nil {
		return measured{}, err
	}
	if before != nil {
		if err := before(ctx); err != nil {
			return measured{}, err
		}
	}
	seen, err := openTally(filepath.Join(b.dir, "tally"), jobs)
	if err != nil {
		return measured{}, err
	}
	defer os.Remove(filepath.Join(b.dir, "tally"))
	defer seen.close()
	redisBefore, err := s.cpu(ctx)
	if err != nil {
		return measured{}, err
	}
	goBefore, start := ownCPU(), time.Now()
	working, stop := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() { worked <- e.work(working, func(p []byte) { seen.add(number(p)) }) }()
	err = e.enqueue(ctx, 0, jobs, nil)
	if err == nil {
		err = seen.await(ctx, jobs)
	}
	elapsed, goCPU := time.Since(start), ownCPU()-goBefore
	redisAfter, cpuErr := s.cpu(ctx)
	stop()
	if workErr := <-worked; err == nil {
		err = workErr
	}
	if err == nil {
		err = cpuErr
	}
	b.count(seen, jobs)
	n := float64(jobs)
	return measured{n / elapsed.Seconds(), (redisAfter - redisBefore) * 1e6 / n, goCPU.Seconds() * 1e6 / n}, err
}

func (b *bench) count(seen *tally, jobs int) {
	lost, duplicates := seen.verdict()
	b.enqueued += jobs
	b.handled += jobs - lost
	b.lost += lost
	b.duplicates += duplicates
}

// ownCPU returns the CPU time of this process since its start.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
