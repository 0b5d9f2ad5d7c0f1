// Package externaledit measures editing sessions on a whole stack: opening, reading and ending them, uploads of the
// largest files beside a bare handler that copies the same bytes to disk, and the memory of uploads and event streams.
package externaledit

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const connections = 16

// Run measures everything about external editing.
func Run(ctx context.Context, r *report.Report) error {
	rounds, sessions, uploads := 5, 4000, 6
	if r.Quick {
		rounds, sessions, uploads = 3, 1500, 2
	}
	s, err := stack.Start(ctx, r, "EXTERNAL_EDIT_LOG_LEVEL=WARN", "GATEWAY_LOG_LEVEL=WARN", "LAB_SEED=none")
	if err != nil {
		return err
	}
	defer s.Remove()
	lab, err := newLaboratory(ctx, s, sessions)
	if err != nil {
		return err
	}
	defer lab.Close()
	if err := streams(ctx, r, s, lab); err != nil {
		return err
	}
	if err := operations(ctx, r, s, lab, rounds); err != nil {
		return err
	}
	return files(ctx, r, s, lab, uploads)
}

// operations measures opening, reading and ending sessions.
func operations(ctx context.Context, r *report.Report, s *sandbox.Sandbox, l *laboratory, rounds int) error {
	var create, get, end, p99, createCPU, getCPU []float64
	for round := range rounds + 1 { // the first one warms up
		if err := l.fresh(ctx); err != nil {
			return err
		}
		before, err := cpu(s)
		if err != nil {
			return err
		}
		c, err := l.rate(func(i int) error { return l.open(ctx, i) })
		if err != nil {
			return err
		}
		between, err := cpu(s)
		if err != nil {
			return err
		}
		g, err := l.rate(func(i int) error { return l.show(ctx, i) })
		if err != nil {
			return err
		}
		after, err := cpu(s)
		if err != nil {
			return err
		}
		taken, err := load.Paced(l.sessions, g/2, func(i int) error { return l.show(ctx, i) })
		if err != nil {
			return err
		}
		e, err := l.rate(func(i int) error { return l.end(ctx, i) })
		if err != nil {
			return err
		}
		if err := l.check(ctx); err != nil {
			return err
		}
		if round == 0 {
			continue
		}
		create, get, end = append(create, c), append(get, g), append(end, e)
		p99 = append(p99, load.Quantile(taken, 0.99))
		createCPU = append(createCPU, float64((between-before).Microseconds())/float64(l.sessions))
		getCPU = append(getCPU, float64((after-between).Microseconds())/float64(l.sessions))
	}
	r.Higher("create_per_second", "1/s", create, "", nil)
	r.Higher("get_per_second", "1/s", get, "", nil)
	r.Higher("end_per_second", "1/s", end, "", nil)
	r.Lower("get_p99_ms_half_load", "ms", p99, "", nil)
	r.Lower("create_cpu_us_gateway_and_service", "µs", createCPU, "", nil)
	r.Lower("get_cpu_us_gateway_and_service", "µs", getCPU, "", nil)
	r.Correct("sessions_opened_and_ended", (rounds+1)*l.sessions)
	return nil
}

// cpu returns the CPU time of the gateway and of the service since their start.
func cpu(s *sandbox.Sandbox) (time.Duration, error) {
	gateway, err := process.CPU(s.Endpoints.PIDs["gateway"])
	if err != nil {
		return 0, err
	}
	service, err := process.CPU(s.Endpoints.PIDs["externaledit"])
	return gateway + service, err
}

// memory returns the memory of the gateway and of the service by the given measure.
func memory(s *sandbox.Sandbox, of func(pid int) (float64, error)) (gateway, service float64, err error) {
	if gateway, err = of(s.Endpoints.PIDs["gateway"]); err != nil {
		return 0, 0, err
	}
	service, err = of(s.Endpoints.PIDs["externaledit"])
	return gateway, service, err
}

// streams measures the memory of a thousand open event streams and checks that an event reaches all of them.
func streams(ctx context.Context, r *report.Report, s *sandbox.Sandbox, l *laboratory) error {
	const readers = 1000
	gatewayBefore, serviceBefore, err := memory(s, process.RSS)
	if err != nil {
		return err
	}
	var gateway, service float64
	got, err := l.listen(ctx, readers, func() (err error) {
		gateway, service, err = memory(s, process.RSS)
		return err
	})
	if err != nil {
		return err
	}
	r.Correct("streams_that_got_the_event", got)
	if got != readers {
		return fmt.Errorf("%d of %d streams got the event", got, readers)
	}
	r.Lower("rss_mib_1000_event_streams_gateway", "MiB", []float64{gateway - gatewayBefore}, "", nil)
	r.Lower("rss_mib_1000_event_streams_service", "MiB", []float64{service - serviceBefore}, "", nil)
	return nil
}
