package job_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

func TestDestinationsAreReadAsTheyWereMade(t *testing.T) {
	t.Parallel()
	path := job.ToPath(12, "https://a.example.com:443", "/bill/*/paid")
	if lab, origin, ok := path.Path(); lab != 12 || origin != "https://a.example.com:443" || !ok {
		t.Errorf("%s: %d, %s, %t", path, lab, origin, ok)
	}
	if _, _, ok := job.ToReceiver("https://a.example.com:443").Path(); ok {
		t.Error("a receiver as a whole is no path")
	}
	if path == job.ToPath(12, "https://a.example.com:443", "/bill/*/sent") {
		t.Error("two kinds of paths are one destination")
	}
	if c, p, ok := job.Via(job.SMS, "twilio:in").Provider(); c != "sms" || p != "twilio:in" || !ok {
		t.Errorf("%s through %s, %t", c, p, ok)
	}
	if c, p, ok := path.Provider(); c != "" || p != "" || ok {
		t.Errorf("a path is a provider: %q through %q, %t", c, p, ok)
	}
	if rate, ok := job.AtRate(0.5, "sms:twilio").Rate(); rate != 0.5 || !ok {
		t.Errorf("%v a second, %t", rate, ok)
	}
	if _, ok := path.Rate(); ok {
		t.Error("a path has no rate")
	}
}

func TestWhoWaitsForAnyProviderWaitsForEachOfTheChannel(t *testing.T) {
	t.Parallel()
	any := job.ViaAny(job.SMS)
	if !any.Waits(job.Via(job.SMS, "a")) || any.Waits(job.Via(job.Email, "a")) || !job.ToReceiver("x").Waits("to:x") {
		t.Error("who waits for whom")
	}
}
