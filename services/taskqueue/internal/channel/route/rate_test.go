package route

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/ratelimit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/pace"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

func TestARowsRatePostponesWithoutAskingTheProviderOrTheNextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(false)
		b.set.cfg.Pacer = pace.New(ratelimit.NewLocal(clock.System{}))
		b.use(t, Row{Provider: "vendor-a", Settings: json.RawMessage(`{"rate_per_second":2}`)}, Row{Provider: "vendor-b", Position: 1})
		for i := range 5 {
			if f := job.AsFailure(b.send(t, 1, india)); (i >= 2) != f.Postponed {
				t.Errorf("message %d: %+v", i, f)
			}
		}
		if got := b.calls.take(); !slices.Equal(got, []string{"vendor-a", "vendor-a"}) {
			t.Errorf("asked %v", got)
		}
		<-time.After(time.Second)
		if err := b.send(t, 1, india); err != nil {
			t.Errorf("a second later: %v", err)
		}
	})
}

func TestARateMustMakeSense(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]float64{`{"kind":"smtp","rate_per_second":0.5}`: 0.5, `{"kind":"smtp"}`: 0} {
		if rate, err := rateOf(json.RawMessage(settings)); rate != want || err != nil {
			t.Errorf("%s: %v, %v", settings, rate, err)
		}
	}
	for _, wrong := range []string{`{"rate_per_second":0}`, `{"rate_per_second":-1}`, `{"rate_per_second":"20"}`} {
		if _, err := rateOf(json.RawMessage(wrong)); err == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
}
