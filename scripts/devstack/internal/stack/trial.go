package stack

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/labplatform/labplatform/pkg/lifecycle"
	"github.com/labplatform/labplatform/scripts/devstack/internal/secrets"
)

const (
	trialPause   = 2 * time.Second
	trialRenewal = time.Hour // sessions expire after 8 hours
)

// ServeDemo loads the demo laboratory into engines that others start, retrying until they and the services' tables
// exist. Before that it creates the platform's tables, for which the services wait. Afterwards it listens on the
// address listen and renews the sessions every hour until ctx ends.
func ServeDemo(ctx context.Context, c Config, listen string) error {
	r := &running{Config: c}
	if err := r.describe(secrets.Secrets{}); err != nil {
		return err
	}
	err := r.loadDemo(ctx)
	for ; err != nil; err = r.loadDemo(ctx) {
		fmt.Fprintln(c.Out, "not yet:", err)
		if err := lifecycle.Pause(ctx, trialPause); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	for lifecycle.Pause(ctx, trialRenewal) == nil {
		if err := r.seed(ctx); err != nil {
			fmt.Fprintln(c.Out, err)
		}
	}
	return nil
}

func (r *running) loadDemo(ctx context.Context) error {
	if err := r.createDatabase(ctx); err != nil {
		return err
	}
	return r.seed(ctx)
}
