package process

import (
	"math"
	"testing"
)

func TestTheSlopeIsThatOfTheLine(t *testing.T) {
	t.Parallel()
	s := Samples{minutes: []float64{0, 1, 2, 3}, mib: []float64{100, 103, 103, 106}}
	if got := s.Slope(); math.Abs(got-1.8) > 1e-9 {
		t.Errorf("%v MiB a minute", got)
	}
	if none := (&Samples{}).Slope(); none != 0 {
		t.Errorf("%v of nothing", none)
	}
}
