// Package clinical measures evaluations of values against reference ranges per second on one core.
package clinical

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

// samples are values as instruments send them, with their position relative to 4–11 (critical outside 2–30).
var samples = []struct {
	text     string
	normal   clinical.Outcome
	critical clinical.Outcome
}{
	{
		"7.35",
		clinical.Inside,
		clinical.Inside,
	},
	{"3.9", clinical.Low, clinical.Inside},
	{"<0.4", clinical.Low, clinical.Low},
	{
		"12.5 H",
		clinical.High,
		clinical.Inside,
	},
	{"1,50,000", clinical.High, clinical.High},
	{"2-4", clinical.Undecided, clinical.Inside},
	{"****", clinical.Undecided, clinical.Undecided},
	{"14", clinical.High, clinical.Inside},
}

// Run measures evaluations_per_second: a value's text is parsed and compared with a normal and a critical range.
func Run(_ context.Context, r *report.Report) error {
	rounds, span := 5, 2*time.Second
	if r.Quick {
		rounds, span = 3, time.Second
	}
	reference, err := reference()
	if err != nil {
		return err
	}
	for _, s := range samples {
		if got := reference.Assess(clinical.ParseValue(s.text)); got.Normal != s.normal || got.Critical != s.critical {
			return fmt.Errorf("%q is %v and %v, not %v and %v", s.text, got.Normal, got.Critical, s.normal, s.critical)
		}
	}
	r.Correct("samples_judged_right", len(samples))
	var runs []float64
	for range rounds {
		runs = append(runs, round(&reference, span))
	}
	r.Higher("evaluations_per_second", "1/s", runs, "", nil)
	return nil
}

func reference() (clinical.Reference, error) {
	low, high, criticalLow, criticalHigh := "4.000000", "11.000000", "2.000000", "30.000000"
	normal, err := clinical.NewRange(&low, &high)
	if err != nil {
		return clinical.Reference{}, err
	}
	critical, err := clinical.NewRange(&criticalLow, &criticalHigh)
	return clinical.Reference{Normal: normal, Critical: critical}, err
}

// round evaluates values for span on one core.
func round(reference *clinical.Reference, span time.Duration) float64 {
	const batch = 4096
	start, n := time.Now(), 0
	for time.Since(start) < span {
		for i := range batch {
			reference.Assess(clinical.ParseValue(samples[i%len(samples)].text))
		}
		n += batch
	}
	return float64(n) / time.Since(start).Seconds()
}
