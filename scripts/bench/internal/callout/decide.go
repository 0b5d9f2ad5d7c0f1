package callout

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

// decisions measures the pure rules on one core with the service's own benchmarks, which check each decision: a report
// of 20 parameters with ten statements is checked, then called; and the explorer.
func decisions(ctx context.Context, r *report.Report, rounds int) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^Benchmark(Decide|DecideCall|Explore)$",
		"-cpu", "1", "-benchtime", "500ms", "-count", strconv.Itoa(rounds),
		"./services/callout/internal/callout").CombinedOutput()
	if err != nil {
		return fmt.Errorf("benchmarks of decisions: %w\n%s", err, out)
	}
	for _, m := range []struct {
		metric, benchmark, unit string
		rate                    func(float64) float64
	}{
		{"decide_per_second", "Decide", "ns/op", rateOf},
		{"decide_call_per_second", "DecideCall", "ns/op", rateOf},
		{"explore_states_per_second", "Explore", "states/s", func(n float64) float64 { return n }},
	} {
		runs, err := figures(out, m.benchmark, m.unit)
		if err != nil {
			return err
		}
		if len(runs) != rounds {
			return fmt.Errorf("benchmark %s has %d figures, want %d:\n%s", m.benchmark, len(runs), rounds, out)
		}
		for i := range runs {
			runs[i] = m.rate(runs[i])
		}
		r.Higher(m.metric, "1/s", runs, "", nil)
	}
	return nil
}

func rateOf(nanoseconds float64) float64 { return float64(time.Second) / nanoseconds }

// figures returns the figures of a benchmark that have the given unit from the output of `go test -bench`.
func figures(out []byte, benchmark, unit string) (runs []float64, err error) {
	line := regexp.MustCompile(`(?m)^Benchmark` + benchmark + `\s.*?([0-9.e+]+) ` + regexp.QuoteMeta(unit))
	for _, found := range line.FindAllSubmatch(out, -1) {
		n, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("figure of benchmark %s: %w", benchmark, err)
		}
		runs = append(runs, n)
	}
	return runs, nil
}
