package engines

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// readyTimeout allows for a busy machine. It delays no failure: an engine whose process ends is noticed at once.
const readyTimeout = 3 * time.Minute

// Engine describes one engine process: how it is prepared and started, and when it is ready.
type Engine struct {
	Spec    process.Spec
	Prepare func(context.Context) error // creates the data directory at the first start; may be nil
	Ready   func(context.Context) error // returns nil once the engine accepts requests
	Then    *Engine                     // an engine to start after this one is ready; may be nil
}

// Start prepares the engine, starts it and waits until it is ready. An engine that does not become ready in time is
// stopped.
func (e Engine) Start(ctx context.Context, spawner *process.Spawner) (*process.Child, error) {
	if e.Prepare != nil {
		if err := e.Prepare(ctx); err != nil {
			return nil, fmt.Errorf("prepare %s: %w", e.Spec.Name, err)
		}
	}
	child, err := spawner.Start(e.Spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := process.Await(ctx, child, e.Ready); err != nil {
		child.Stop(5 * time.Second)
		return nil, err
	}
	return child, nil
}

// Place is where one engine keeps its data and its log, and its port.
type Place struct {
	Data string // directory, created when missing
	Log  string // log file
	Port int    // port on 127.0.0.1
}

// Relational returns MySQL when RealMySQL is set, otherwise MariaDB.
func Relational(wanted install.Wanted, place Place, durability Durability) (Engine, error) {
	if wanted.RealMySQL {
		return MySQL(place, durability, wanted.Distributions)
	}
	return MariaDB(place, durability)
}
