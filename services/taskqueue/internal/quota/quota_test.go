package quota_test

import (
	"context"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/taskqueue/internal/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/quota"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// TestNoFlowUsesThePartOfAnother fills the flows of a laboratory one after another. Even with a small quota, an urgent
// notice must still fit.
func TestNoFlowUsesThePartOfAnother(t *testing.T) {
	t.Parallel()
	for most, want := range map[int64]map[job.Flow]int64{
		6000:      {job.LabFlow(1): 5250, job.OTPFlow(1): 64 << 10, job.UrgentFlow(1): 64 << 10},
		256 << 20: {job.LabFlow(1): 224 << 20, job.OTPFlow(1): 16 << 20, job.UrgentFlow(1): 16 << 20},
	} {
		bytes := quota.New(enginetest.New(clock.System{}, engine.DefaultSettings()), most)
		for flow, limit := range want {
			if !bytes.Fits(flow, limit) || bytes.Fits(flow, limit+1) {
				t.Errorf("a quota of %d: the limit of flow %d is not %d", most, flow, limit)
			}
			bytes.Add(flow, limit)
		}
		for flow := range want {
			if bytes.Fits(flow, 1) || !bytes.Fits(flow+1, 1) {
				t.Errorf("a quota of %d: flow %d is not full, or another laboratory's is", most, flow)
			}
		}
	}
}

func TestALaboratoryIsFullByTheBytesThatWaitAndComeAndNobodyElseIs(t *testing.T) {
	t.Parallel()
	q := enginetest.New(clock.System{}, engine.DefaultSettings())
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
