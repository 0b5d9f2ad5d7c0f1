// Package gateway measures the cost of the REST edge: CPU per request beside a plain handler, idle memory of the
// services, and the start of the whole stack.
package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
)

const connections = 64

// Run measures everything about the gateway.
func Run(ctx context.Context, r *report.Report) error {
	if err := cpu(ctx, r); err != nil {
		return err
	}
	if err := startup(ctx, r); err != nil {
		return err
	}
	return startupPipeline(ctx, r)
}

// cpu compares the gateway process, with a service process behind it, with a plain handler process.
func cpu(ctx context.Context, r *report.Report) error {
	rounds, total := 4, 60_000
	if r.Quick {
		rounds, total = 2, 20_000
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ports := make([]int, 5)
	for i := range ports {
		if ports[i], err = process.FreePort(); err != nil {
			return err
		}
	}
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	peer, err := process.Start(ctx, address(0), nil, self, "peer", address(0))
	if err != nil {
		return err
	}
	defer peer.Stop()
	back, err := process.Start(ctx, address(1), nil, self, "backend", address(1))
	if err != nil {
		return err
	}
	defer back.Stop()
	edge, err := process.Start(ctx, address(2), []string{
		"GATEWAY_HOST=127.0.0.1", fmt.Sprintf("GATEWAY_PORT=%d", ports[2]), fmt.Sprintf("GATEWAY_INTERNAL_PORT=%d", ports[3]),
		fmt.Sprintf("GATEWAY_ADMIN_PORT=%d", ports[4]), "GATEWAY_RERUN_ADDR=" + address(1), "GATEWAY_LOG_LEVEL=WARN",
		"GATEWAY_DRAIN_DELAY_SECONDS=0", "GATEWAY_SERVICE_TOKEN_SECRET=" + strings.Repeat("s", 32),
	}, stack.Binary("gateway"), "serve")
	if err != nil {
		return err
	}
	defer edge.Stop()

	var backRuns []float64
	measure := func(url string, pid, behind int) (float64, error) {
		before, beforeBehind, err := times(pid, behind)
		if err != nil {
			return 0, err
		}
		if _, err := load.Get(ctx, url, connections, total, right); err != nil {
			return 0, err
		}
		after, afterBehind, err := times(pid, behind)
		if behind != 0 {
			backRuns = append(backRuns, (afterBehind-beforeBehind)/float64(total))
		}
		return (after - before) / float64(total), err
	}
	ours := func() (float64, error) { return measure("http://"+address(2)+path, edge.PID(), back.PID()) }
	theirs := func() (float64, error) { return measure("http://"+address(0)+path, peer.PID(), 0) }
	for _, warm := range []func() (float64, error){ours, theirs} {
		if _, err := warm(); err != nil {
			return err
		}
	}
	backRuns = nil
	r.Progress("%d requests a run over %d connections", total, connections)
	oursRuns, peerRuns, err := report.Alternate(rounds, ours, theirs)
	if err != nil {
		return err
	}
	r.Correct("answers_checked", 2*rounds*total)
	r.Lower("get_cpu_us_two_process", "µs", oursRuns, "net/http + encoding/json", peerRuns)
	r.Lower("get_cpu_us_service_behind", "µs", backRuns, "", nil)
	return nil
}

// times returns the CPU time in microseconds of one process and, unless behind is 0, of another.
func times(pid, behind int) (first, second float64, err error) {
	d, err := process.CPU(pid)
	if err != nil || behind == 0 {
		return float64(d.Microseconds()), 0, err
	}
	b, err := process.CPU(behind)
	return float64(d.Microseconds()), float64(b.Microseconds()), err
}

// right reports whether body is the document that both sides must return.
func right(body []byte) bool {
	var d document
	return json.Unmarshal(body, &d) == nil && len(d.Reruns) == 1 && d.Reruns[0].Value == "13.4" && d.Flag == 4
}
