package load

import (
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls do once for every i below count from workers goroutines, each of which makes its next call once the
// previous one has returned. A goroutine stops at its first error; Each returns the first error.
func Each(count, workers int, do func(i int) error) error {
	var next atomic.Int64
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
