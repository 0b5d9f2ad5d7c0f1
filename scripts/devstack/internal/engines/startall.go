package engines

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// StartAll starts the engines in parallel and waits until all are ready; an engine in Then starts after its predecessor
// is ready. On an error it also returns the children that did start, which the caller must stop.
func StartAll(ctx context.Context, spawner *process.Spawner, wanted []Engine) ([]*process.Child, error) {
	children := make([][]*process.Child, len(wanted))
	problems := make([]error, len(wanted))
	var group sync.WaitGroup
	for i, engine := range wanted {
		group.Go(func() { children[i], problems[i] = startChain(ctx, spawner, &engine) })
	}
	group.Wait()
	return slices.Concat(children...), errors.Join(problems...)
}

func startChain(ctx context.Context, spawner *process.Spawner, engine *Engine) ([]*process.Child, error) {
	var running []*process.Child
	for ; engine != nil; engine = engine.Then {
		child, err := engine.Start(ctx, spawner)
		if err != nil {
			return running, err
		}
		running = append(running, child)
	}
	return running, nil
}
