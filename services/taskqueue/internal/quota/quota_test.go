package quota_test

import (
	"context"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/model"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/quota"
)

func TestALaboratoryIsFullByTheBytesThatWaitAndComeAndNobodyElseIs(t *testing.T) {
	t.Parallel()
	q := model.New(clock.System{}, engine.DefaultSettings())
	ids := job.NewGenerator(clock.System{})
	enqueue := func(flow job.Flow, n, size int) {
		t.Helper()
		b := engine.Batch{RequestHash: "h", KeepKey: time.Minute}
		for range n {
			id := ids.Next(0, job.Lane{Channel: job.Email, Priority: job.Low})
			b.Jobs = append(b.Jobs, engine.NewJob{ID: id, Flow: flow, Body: make([]byte, size)})
		}
		b.IdempotencyKey = string(b.Jobs[0].ID)
		if _, err := q.Enqueue(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	large, small, passwords := job.LabFlow(1), job.LabFlow(2), job.OTPFlow(1)
	enqueue(large, 40, 60<<10)
	enqueue(small, 40, 1<<10)
	enqueue(passwords, 40, 10<<10)
	bytes := quota.New(q, 2<<20)
	if !bytes.Fits(large, 1<<20) || bytes.Fits(large, 2<<20) {
		t.Error("what comes does not count before anything was measured")
	}
	measure := func() {
		t.Helper()
		for _, step := range []func(context.Context) error{bytes.Measure, bytes.RunOnce} {
			if err := step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	measure()
	for flow, want := range map[job.Flow]bool{large: false, small: true, passwords: false, job.FlowPlatform: true} {
		if bytes.Fits(flow, 1<<10) != want {
			t.Errorf("flow %d: %v", flow, !want)
		}
	}
	bytes.Add(small, 2<<20)
	if bytes.Fits(small, 1<<10) {
		t.Error("what was accepted since the measurement does not count")
	}
	if _, err := q.Claim(t.Context(), engine.ClaimRequest{Channel: job.Email, Max: 250}); err != nil {
		t.Fatal(err)
	}
	measure()
	if !bytes.Fits(large, 1<<10) || !bytes.Fits(small, 1<<10) {
		t.Error("full although nothing waits")
	}
	var none *quota.Bytes
	none.Add(large, 1)
	if !none.Fits(large, 1<<40) {
		t.Error("no quota is never full")
	}
}
