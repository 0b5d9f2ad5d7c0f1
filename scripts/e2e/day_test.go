package e2e

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/day"
)

// TestADayOfTheLaboratoryGoesWithoutAFailure plays some hours of the demo: every request of every kind is answered well.
func TestADayOfTheLaboratoryGoesWithoutAFailure(t *testing.T) {
	ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	got, err := day.Run(ctx, day.Config{Endpoints: stack.Endpoints, Pace: 240, Seed: 28, Out: io.Discard,
		Token: func() (string, error) { return stack.InternalToken(ctx) }})
	t.Logf("%+v", got)
	if err != nil || got.Failed > 0 || got.Patients < 30 || got.Results < 20 || got.Critical == 0 || got.Split == 0 {
		t.Errorf("%+v %v", got, err)
	}
}
