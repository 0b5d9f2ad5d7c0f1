package engine_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/redistest"
	"github.com/labplatform/labplatform/services/taskqueue/internal/engine/enginetest"
)

func TestRedisIsOperatedAsTheModelIs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	databases := make(chan int, 16)
	for db := range 16 {
		databases <- db
	}
	enginetest.RunOperated(t, func(t *testing.T) enginetest.Harness {
		return enginetest.Harness{Queue: open(t, server.Addr, <-databases, enginetest.Settings()), Advance: wait(t)}
	})
}
