package cdc

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/oracletest"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

const peerName = "sarama loop, one row and one index call an event"

// spent holds the costs of runs other than their duration.
type spent struct{ cpu, engines, memory []float64 }

// consumers measures how fast the service and the peer process the events.
func (b *bench) consumers(ctx context.Context) error {
	var ours, peers spent
	oursRuns, peerRuns, err := report.Alternate(b.sizes.rounds,
		func() (float64, error) { return b.ours(ctx, &ours) },
		func() (float64, error) { return b.peer(ctx, &peers) })
	if err != nil {
		return err
	}
	b.report.Higher("consumer_events_per_second", "1/s", oursRuns, peerName, peerRuns)
	b.report.Lower("consumer_cpu_us_per_event", "µs", ours.cpu, peerName, peers.cpu)
	b.report.Lower("consumer_engines_cpu_us_per_event", "µs", ours.engines, peerName, peers.engines)
	b.report.Lower("rss_mib_max", "MiB", ours.memory, "", nil)
	return nil
}

// reset deletes the data that earlier runs wrote, and their committed offsets.
func (b *bench) reset(ctx context.Context, group string) error {
	if err := b.broker.forget(ctx, group); err != nil {
		return err
	}
	for _, table := range []string{"user_meta", "cdc_progress", "cdc_freshness", "cdc_walk"} {
		if _, err := b.db.ExecContext(ctx, "TRUNCATE TABLE "+table); err != nil {
			return err
		}
	}
	if err := b.index.drop(ctx); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.sandbox.Endpoints.Commands["cdc"][0], "migrate")
	cmd.Env = os.Environ()
	for key, value := range b.sandbox.Endpoints.Environ["cdc"] {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cdc migrate: %w\n%s", err, out)
	}
	return nil
}

// ours runs one process of the service over all events, measured from when it joined its group until every offset is
// committed.
func (b *bench) ours(ctx context.Context, cost *spent) (float64, error) {
	if err := b.reset(ctx, group); err != nil {
		return 0, err
	}
	if err := b.sandbox.Start("cdc", map[string]string{"CDC_CONNECTORS_APPLY": "never"}); err != nil {
		return 0, err
	}
	if err := b.member(ctx); err != nil {
		return 0, err
	}
	m, err := b.meter(b.sandbox.PID("cdc"), true)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := await(ctx, "the end of the events", 5*time.Minute, func() (bool, error) {
		waiting, err := b.broker.waiting(group)
		return waiting == 0, err
	}); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	if err := m.stop(cost, b.events); err != nil {
		return 0, err
	}
	if err := b.sandbox.Stop("cdc"); err != nil {
		return 0, err
	}
	b.report.Progress("consumer: %d events in %.1f s", b.events, took.Seconds())
	return float64(b.events) / took.Seconds(), b.right(ctx)
}

// member waits until the process has joined its group.
func (b *bench) member(ctx context.Context) error {
	return await(ctx, "the consumer's membership", time.Minute, func() (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.sandbox.Endpoints.CDC+"/metrics", nil)
		if err != nil {
			return false, err
		}
		response, err := b.index.client.Do(request)
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return strings.Contains(string(text), "\ncdc_up 1"), err
	})
}

// meter reads the CPU time of a process and of the engines that it uses.
type meter struct {
	bench   *bench
	pid     int
	process time.Duration
	engines time.Duration
}

// meter stores the current CPU times. fresh means that the process has just started, so that all of its time counts.
func (b *bench) meter(pid int, fresh bool) (*meter, error) {
	m := &meter{bench: b, pid: pid}
	var err error
	if m.engines, err = b.engines(); err != nil || fresh {
		return m, err
	}
	m.process, err = process.CPU(pid)
	return m, err
}

// engines returns the CPU time of the engines so far.
func (b *bench) engines() (total time.Duration, err error) {
	for _, name := range []string{"mysql", "kafka", "elasticsearch"} {
		one, err := process.CPU(b.sandbox.PID(name))
		if err != nil {
			return 0, err
		}
		total += one
	}
	return total, nil
}

// stop adds the CPU time since the start.
func (m *meter) stop(s *spent, events int64) error {
	own, err := process.CPU(m.pid)
	if err != nil {
		return err
	}
	engines, err := m.bench.engines()
	if err != nil {
		return err
	}
	memory, err := process.PeakRSS(m.pid)
	s.cpu = append(s.cpu, float64((own-m.process).Microseconds())/float64(events))
	s.engines = append(s.engines, float64((engines-m.engines).Microseconds())/float64(events))
	s.memory = append(s.memory, memory)
	return err
}

// right is the correctness gate: it compares user_meta and the index with the content expected from the tables.
func (b *bench) right(ctx context.Context) error {
	stored, err := oracletest.Stored(ctx, b.db)
	if err != nil {
		return err
	}
	if err := equal("user_meta", b.expected, stored, true); err != nil {
		return err
	}
	indexed, err := b.index.documents(ctx)
	if err != nil {
		return err
	}
	if err := equal("the index", b.expected, indexed, true); err != nil {
		return err
	}
	b.report.Correct("patients_equal_in_user_meta_and_index", b.sizes.patients)
	return nil
}
