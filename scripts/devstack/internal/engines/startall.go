package engines

import (
	"context"
	"errors"
	"sync"

	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// StartAll starts the engines in parallel and waits for all of them. The children that did start are returned
// also beside an error: the caller stops them.
func StartAll(ctx context.Context, spawner *process.Spawner, wanted []Engine) ([]*process.Child, error) {
	children := make([]*process.Child, len(wanted))
	problems := make([]error, len(wanted))
	var group sync.WaitGroup
	for i, engine := range wanted {
		group.Go(func() { children[i], problems[i] = engine.Start(ctx, spawner) })
	}
	group.Wait()
	var running []*process.Child
	for _, child := range children {
		if child != nil {
			running = append(running, child)
		}
	}
	return running, errors.Join(problems...)
}
