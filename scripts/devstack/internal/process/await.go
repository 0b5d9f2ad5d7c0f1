package process

import (
	"context"
	"fmt"
	"time"
)

const (
	pollInterval = 25 * time.Millisecond
	probeTimeout = 2 * time.Second
	tailLines    = 15
)

// Await polls ready until it succeeds. When the child ends or ctx is cancelled first, it returns an error with the last
// lines of the child's log.
func Await(ctx context.Context, child *Child, ready func(context.Context) error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := probe(ctx, ready)
		if err == nil {
			return nil
		}
		select {
		case <-child.Ended():
			return fmt.Errorf("%s ended while starting (%s); the end of %s:\n%s",
				child.Name, child.How(), child.LogFile, child.LogTail(tailLines))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%w); the end of %s:\n%s",
				child.Name, err, context.Cause(ctx), child.LogFile, child.LogTail(tailLines))
		case <-ticker.C:
		}
	}
}

func probe(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return ready(ctx)
}
