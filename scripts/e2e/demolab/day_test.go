package demolab_test

import (
	"context"
	"testing"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/day"
	"github.com/labplatform/labplatform/scripts/e2e/demolab"
)

// TestADayOfTheLaboratoryGoesWithoutAFailure plays some hours of the demo: every request of every kind is answered well.
func TestADayOfTheLaboratoryGoesWithoutAFailure(t *testing.T) {
	p := demolab.Start(t)
	ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	got, err := day.Run(ctx, day.Config{Endpoints: p.Endpoints, Pace: 240, Seed: 28, Out: t.Output(),
		Token: func() (string, error) { return p.InternalToken(ctx) }})
	t.Logf("%+v", got)
	if err != nil || got.Failed > 0 || got.Patients < 30 || got.Results < 20 || got.Critical == 0 || got.Split == 0 {
		t.Errorf("%+v %v", got, err)
	}
}
