package engines

import (
	"context"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

// readyTimeout is for a machine that is busy with other things; an engine that ends is noticed at once.
const readyTimeout = 3 * time.Minute

// Engine is one engine, ready to be started.
type Engine struct {
	Spec    process.Spec
	Prepare func(context.Context) error // makes the data directory at first start; nil: nothing to do
	Ready   func(context.Context) error // succeeds once it serves
	Then    *Engine                     // started once this one serves; nil: nothing waits for it
}

// Start prepares the engine, runs it and waits until it serves. An engine that does not become ready is stopped.
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

// Place says where one engine keeps its data and its log, and where it listens.
type Place struct {
	Data string // directory; made when missing
	Log  string // file
	Port int    // on 127.0.0.1
}

// Relational describes the relational engine that is wanted.
func Relational(wanted install.Wanted, place Place, durability Durability) (Engine, error) {
	if wanted.RealMySQL {
		return MySQL(place, durability, wanted.Distributions)
	}
	return MariaDB(place, durability)
}
