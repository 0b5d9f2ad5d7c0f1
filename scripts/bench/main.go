// Command bench measures the platform and comparable software and writes the figures as JSON.
//
// The compared software is used only here, and the product contains no code for benchmarks. Each benchmark checks the
// correctness of its results first: an incorrect run writes no figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/scripts/bench/internal/billsplit"
	"github.com/labplatform/labplatform/scripts/bench/internal/callout"
	"github.com/labplatform/labplatform/scripts/bench/internal/cdc"
	"github.com/labplatform/labplatform/scripts/bench/internal/cellcounter"
	"github.com/labplatform/labplatform/scripts/bench/internal/clinical"
	"github.com/labplatform/labplatform/scripts/bench/internal/externaledit"
	"github.com/labplatform/labplatform/scripts/bench/internal/gateway"
	"github.com/labplatform/labplatform/scripts/bench/internal/labjson"
	"github.com/labplatform/labplatform/scripts/bench/internal/notifications"
	"github.com/labplatform/labplatform/scripts/bench/internal/platform"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/rerun"
	"github.com/labplatform/labplatform/scripts/bench/internal/search"
	"github.com/labplatform/labplatform/scripts/bench/internal/taskqueue"
	"github.com/labplatform/labplatform/scripts/devstack/volume"
)

type benchmark struct {
	name string
	run  func(context.Context, *report.Report) error
}

var benchmarks = []benchmark{
	{"billsplit", billsplit.Run},
	{"callout", callout.Run},
	{"cdc", cdc.Run},
	{"cellcounter", cellcounter.Run},
	{"clinical", clinical.Run},
	{"externaledit", externaledit.Run},
	{"gateway", gateway.Run},
	{"labjson", labjson.Run},
	{"notifications", notifications.Run},
	{"platform", platform.Run},
	{"relevance", search.Relevance},
	{"rerun", rerun.Run},
	{"search", search.Run},
	{"taskqueue", taskqueue.Run},
}

func names() string {
	list := make([]string, len(benchmarks))
	for i, b := range benchmarks {
		list[i] = b.name
	}
	return strings.Join(list, ", ")
}

func main() {
	var name string
	quick := os.Getenv("QUICK") == "1"
	os.Exit(cli.Program{
		Name:    "bench",
		Summary: "measures the platform beside its peers",
		Verbs: []cli.Verb{
			{
				Name:    "run",
				Summary: "Runs benchmarks, prints a table and writes $BENCH_OUT (default <LAB_DIR>/bench/<name>.json).",
				Details: "Benchmarks: " + names() + ", or all. QUICK=1 keeps each under 50 seconds.",
				Flags: func(f *flag.FlagSet) {
					f.StringVar(&name, "name", "all", "the `benchmark` to run")
				},
				Run: func(ctx context.Context, _ []string) error { return run(ctx, name, quick) },
			},
			{
				Name:    "peer",
				Args:    "ADDRESS",
				Summary: "Serves the gateway's peer: plain net/http and encoding/json. The benchmark starts it.",
				Run:     gateway.ServePeer,
			},
			{
				Name:    "backend",
				Args:    "ADDRESS",
				Summary: "Serves a canned gRPC answer behind the gateway. The benchmark starts it.",
				Run:     gateway.ServeBackend,
			},
			{
				Name:    "copier",
				Args:    "ADDRESS FOLDER",
				Summary: "Serves external editing's peer: bodies are copied to disk. The benchmark starts it.",
				Run:     externaledit.ServePeer,
			},
			taskqueue.WorkerVerb(),
			volume.Verb(),
		},
	}.Main(os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, name string, quick bool) error {
	var failures []error
	found := false
	for _, b := range benchmarks {
		if name != "all" && name != b.name {
			continue
		}
		found = true
		r := report.New(b.name, quick, os.Stdout)
		if err := b.run(ctx, r); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", b.name, err))
			continue
		}
		if err := r.Write(out(b.name, name)); err != nil {
			failures = append(failures, err)
		}
	}
	if !found {
		return fmt.Errorf("%w: there is no benchmark %q", cli.ErrUsage, name)
	}
	return errors.Join(failures...)
}

// out returns the path of a benchmark's report: $BENCH_OUT if only this benchmark runs, else a file in $LAB_DIR.
func out(benchmark, asked string) string {
	if path := os.Getenv("BENCH_OUT"); path != "" && asked != "all" {
		return path
	}
	dir := os.Getenv("LAB_DIR")
	if dir == "" {
		dir = ".lab"
	}
	return filepath.Join(dir, "bench", benchmark+".json")
}
