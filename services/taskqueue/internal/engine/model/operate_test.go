package model_test

import (
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/model"
)

func TestTheModelIsOperated(t *testing.T) {
	t.Parallel()
	enginetest.RunOperated(t, func(*testing.T) enginetest.Harness {
		clk := &steps{at: time.UnixMilli(1_790_000_000_000)}
		return enginetest.Harness{Queue: model.New(clk, enginetest.Settings()), Advance: clk.advance}
	})
}
