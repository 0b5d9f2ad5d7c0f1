package taskqueue

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/labplatform/labplatform/services/taskqueue/inprocess"
)

// laboratories measures the same load beside laboratories with one job tomorrow each, such as a reminder: the rate
// divided by that of the load alone, and the CPU that Redis needs to measure all of their lanes.
func (b *bench) laboratories(ctx context.Context) error {
	s, err := startServer(ctx, "everysec")
	if err != nil {
		return err
	}
	defer s.stop()
	const few, many = 200, 2000
	ratios := map[int][]float64{}
	var cpu, passes []float64
	for range b.sizes.rounds {
		rates := map[int]float64{}
		for _, n := range []int{few, 0, many} {
			q, err := inprocess.Open(ctx, s.address)
			if err != nil {
				return err
			}
			m, err := b.run(ctx, s, &ours{q}, b.sizes.ours, func(ctx context.Context) error {
				return q.Tomorrow(ctx, n, false)
			})
			if err != nil {
				return fmt.Errorf("beside %d laboratories: %w", n, err)
			}
			rates[n] = m.perSecond
			if n == many {
				cpu = append(cpu, m.redisCPU)
			}
		}
		ratios[few] = append(ratios[few], rates[few]/rates[0])
		ratios[many] = append(ratios[many], rates[many]/rates[0])
		pass, err := b.pass(ctx, s)
		if err != nil {
			return fmt.Errorf("measuring pass: %w", err)
		}
		passes = append(passes, pass)
	}
	b.report.Higher("many_labs_ratio_200", "", ratios[few], "", nil)
	b.report.Higher("many_labs_ratio_2000", "", ratios[many], "", nil)
	b.report.Lower("redis_cpu_us_per_job_2000_labs", "µs", cpu, "", nil)
	b.report.Lower("measure_pass_ms", "ms", passes, "", nil)
	return nil
}

// pass returns the milliseconds of Redis CPU for one measurement of every lane of every shard while each laboratory has
// a job in each lane.
func (b *bench) pass(ctx context.Context, s *server) (float64, error) {
	if err := s.wipe(ctx); err != nil {
		return 0, err
	}
	q, err := inprocess.Open(ctx, s.address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = q.Close() }()
	const flows, looks = 2048, 20
	if err := q.Tomorrow(ctx, flows, true); err != nil {
		return 0, err
	}
	before, err := s.cpu(ctx)
	if err != nil {
		return 0, err
	}
	for range looks {
		if err := q.Measure(ctx); err != nil {
			return 0, err
		}
	}
	after, err := s.cpu(ctx)
	return (after - before) * 1000 / looks, err
}

var claimsOfAJob = regexp.MustCompile(`webhook: ([0-9.]+) claims a job`)

// claims measures how often a webhook to a closed port is claimed until it has failed. That takes a quarter of an hour,
// so the figure comes from the service's own test, which has virtual time.
func (b *bench) claims(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "^TestJobsToADeadReceiverEnd$",
		"./services/taskqueue/internal/delivery/webhook").CombinedOutput()
	if err != nil {
		return fmt.Errorf("claims of a job to a dead receiver: %w\n%s", err, out)
	}
	found := claimsOfAJob.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("the test of a dead receiver tells no claims:\n%s", out)
	}
	claims, err := strconv.ParseFloat(string(found[1]), 64)
	b.report.Lower("claims_per_waiting_job", "", []float64{claims}, "", nil)
	return err
}
