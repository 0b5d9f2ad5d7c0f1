package service_test

import (
	"runtime/debug"
	"testing"

	"github.com/labplatform/labplatform/pkg/service"
)

// Not parallel: the collector is the process's.
func TestGarbageWaitsUnlessAnOperatorSaysHowLong(t *testing.T) {
	const asked = 50
	before := debug.SetGCPercent(asked)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	service.GarbageCollection{GOGC: "50"}.Delay()
	if got := debug.SetGCPercent(asked); got != asked {
		t.Errorf("GOGC=50 becomes %d", got)
	}
	service.GarbageCollection{}.Delay()
	if got := debug.SetGCPercent(asked); got != 400 {
		t.Errorf("without GOGC it is %d", got)
	}
}
