package taskqueue

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/labplatform/labplatform/pkg/cli"
)

// recoveryPatience is longer than the peer's lease plus the interval of its recoverer.
const recoveryPatience = 4 * time.Minute

// WorkerVerb returns the verb of the process that the recovery benchmark kills: it runs jobs and counts them in a tally
// file.
func WorkerVerb() cli.Verb {
	var redis, file, which string
	var jobs, pause int
	var c cell
	return cli.Verb{
		Name: "queue-worker", Summary: "Runs jobs of one engine and counts them. The benchmark starts and kills it.",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&redis, "redis", "", "the `address`")
			f.StringVar(&file, "tally", "", "the tally `file`")
			f.StringVar(&which, "engine", "ours", "ours or asynq")
			f.IntVar(&jobs, "jobs", 0, "how many jobs there are")
			f.IntVar(&pause, "pause", 10, "how long a handler takes, in `ms`")
			f.IntVar(&c.concurrency, "concurrency", 20, "of asynq")
			f.IntVar(&c.servers, "servers", 1, "of asynq")
		},
		Run: func(ctx context.Context, _ []string) error {
			seen, err := openTally(file, jobs)
			if err != nil {
				return err
			}
			e, err := open(ctx, which, redis, c)
			if err != nil {
				return err
			}
			return e.work(ctx, func(p []byte) {
				time.Sleep(time.Duration(pause) * time.Millisecond)
				seen.add(number(p))
			})
		},
	}
}

func open(ctx context.Context, which, redis string, c cell) (engine, error) {
	if which == "asynq" {
		return openPeer(redis, c), nil
	}
	return openOurs(ctx, redis)
}

// recovery kills workers while they run jobs and measures how long new ones take until the last job has run. The kills
// of one engine run concurrently on servers of their own, because nearly all of the time is waiting. A short run leaves
// the peer out, whose recovery exceeds the time of the run.
func (b *bench) recovery(ctx context.Context) error {
	if b.killed == nil {
		if err := b.recover(ctx); err != nil {
			return err
		}
	}
	oursRuns, lost, twice := b.killed.seconds, b.killed.lost, b.killed.twice
	var peerRuns, peerLost []float64
	if !b.report.Quick {
		var never int
		k, err := b.kills(ctx, "asynq")
		if err != nil {
			return fmt.Errorf("recovery of the peer: %w", err)
		}
		peerRuns, never = k.seconds, k.lost
		peerLost = []float64{float64(never)}
	}
	b.report.Lower("kill9_recovery_seconds", "s", oursRuns, peerName, peerRuns)
	b.report.Lower("kill9_lost", "", []float64{float64(lost)}, "", nil)
	if peerLost != nil {
		b.report.Correct("kill9_lost_asynq", peerLost[0])
	}
	b.report.Correct("kill9_ran_twice", twice)
	if lost > 0 {
		return fmt.Errorf("correctness: %d acknowledged jobs never ran after a kill", lost)
	}
	return nil
}

// outcome is the result of the kills of one engine.
type outcome struct {
	seconds     []float64
	lost, twice int
}

// recover measures the kills of our workers.
func (b *bench) recover(ctx context.Context) error {
	k, err := b.kills(ctx, "ours")
	if err != nil {
		return fmt.Errorf("recovery: %w", err)
	}
	b.killed = &k
	return nil
}

// whileLeasesRunOut measures the whole service while leases of killed workers expire. Waiting for them needs no CPU,
// and a short run has no time to do both in turn.
func (b *bench) whileLeasesRunOut(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.recover(ctx) })
	group.Go(func() error {
		if err := b.service(ctx); err != nil {
			return err
		}
		return b.claims(ctx)
	})
	return group.Wait()
}

// kills runs one kill per round, all concurrently.
func (b *bench) kills(ctx context.Context, which string) (outcome, error) {
	var all outcome
	group, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	for i := range b.sizes.rounds {
		group.Go(func() error {
			s, err := startServer(ctx, "always")
			if err != nil {
				return err
			}
			defer s.stop()
			took, l, d, err := b.kill(ctx, s, which, filepath.Join(b.dir, fmt.Sprintf("kill-%s-%d", which, i)))
			mu.Lock()
			defer mu.Unlock()
			all.seconds, all.lost, all.twice = append(all.seconds, took), all.lost+l, all.twice+d
			return err
		})
	}
	err := group.Wait()
	return all, err
}

func (b *bench) kill(ctx context.Context, s *server, which, file string) (seconds float64, lost, twice int, err error) {
	jobs := b.sizes.kill
	seen, err := openTally(file, jobs)
	if err != nil {
		return 0, 0, 0, err
	}
	defer seen.close()
	seen.patience = recoveryPatience
	e, err := open(ctx, which, s.address, b.cell)
	if err != nil {
		return 0, 0, 0, err
	}
	defer e.close()
	if err := e.enqueue(ctx, 0, jobs, nil); err != nil {
		return 0, 0, 0, err
	}
	first, err := b.worker(ctx, s, which, file, jobs)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := seen.await(ctx, jobs/2); err != nil {
		return 0, 0, 0, err
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	killed := time.Now()
	second, err := b.worker(ctx, s, which, file, jobs)
	if err != nil {
		return 0, 0, 0, err
	}
	err = seen.await(ctx, jobs)
	seconds = time.Since(killed).Seconds()
	_ = second.Process.Signal(syscall.SIGTERM)
	_ = second.Wait()
	lost, twice = seen.verdict()
	return seconds, lost, twice, err
}

func (b *bench) worker(ctx context.Context, s *server, which, file string, jobs int) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(
		ctx,
		self,
		"queue-worker",
		"--redis",
		s.address,
		"--tally",
		file,
		"--engine",
		which,
		"--jobs",
		strconv.Itoa(jobs),
		"--concurrency",
		strconv.Itoa(b.cell.concurrency),
		"--servers",
		strconv.Itoa(b.cell.servers),
	)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd, cmd.Start()
}
