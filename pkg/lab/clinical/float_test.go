package clinical_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

func TestNumberOfAValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"7.1": 7.1, "<0.01": 0.01, ">=500": 500, "12.5 H": 12.5, "1:80": 80, "1,50,000": 150000, "-2.5": -2.5,
		"99999999999999999999": 1e20, "0": 0,
	} {
		if got, ok := clinical.ParseValue(text).Number(); !ok || got != want {
			t.Errorf("Number of %q = %v, %v, want %v, true", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "Positive", "2-4", "****", "1.2e3"} {
		if got, ok := clinical.ParseValue(text).Number(); ok {
			t.Errorf("Number of %q = %v, want none", text, got)
		}
	}
}
