package model_test

import (
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/enginetest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/model"
)

func TestModelConforms(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(*testing.T) enginetest.Harness {
		clk := &steps{at: time.UnixMilli(1_790_000_000_000)}
		return enginetest.Harness{Queue: model.New(clk, enginetest.Settings()), Advance: clk.advance}
	})
}

type steps struct {
	mu sync.Mutex // guards at
	at time.Time
}

func (s *steps) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *steps) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.at.Add(d)
}
