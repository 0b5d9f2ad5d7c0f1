package service_test

import (
	"runtime/debug"
	"testing"

	"github.com/labplatform/labplatform/pkg/service"
)

// This test is not parallel, because the collector's percentage applies to the whole process.
func TestCollectionIsDelayedUnlessGOGCIsSet(t *testing.T) {
	const configured = 70
	before := debug.SetGCPercent(configured)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	service.GarbageCollection{GOGC: "70"}.Delay()
	if got := debug.SetGCPercent(configured); got != configured {
		t.Errorf("percent with GOGC=70 = %d, want 70", got)
	}
	service.GarbageCollection{}.Delay()
	if got := debug.SetGCPercent(configured); got != 400 {
		t.Errorf("percent without GOGC = %d, want 400", got)
	}
	service.GarbageCollection{}.Hasten()
	if got := debug.SetGCPercent(configured); got != 50 {
		t.Errorf("percent of a hasty collection = %d, want 50", got)
	}
}
