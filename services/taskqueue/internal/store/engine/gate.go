package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Gate rejects new jobs until a check has shown that Redis meets the profile. Jobs in the queue run in any case.
type Gate struct {
	*Redis
	profile Profile
	warn    func(list []string) // called if the findings differ from those of the previous check
	state   atomic.Pointer[gateState]
}

type gateState struct {
	open   bool
	broken string
	found  []string // all findings, including recommended changes
}

// ErrClosed is returned if Redis does not meet the profile or has not been checked yet.
var ErrClosed = errors.New("redis does not keep the durable profile")

// NewGate returns a closed gate; Check opens it. warn is called with the findings of a check when they change.
func NewGate(r *Redis, profile Profile, warn func(list []string)) *Gate {
	g := &Gate{Redis: r, profile: profile, warn: warn}
	g.state.Store(&gateState{})
	return g
}

// Check checks Redis, opens or closes the gate, and loads the scripts and compares the number of shards when the gate
// opens. It is used as the readiness probe.
func (g *Gate) Check(ctx context.Context) error {
	before := g.state.Load()
	now, err := g.look(ctx, before.open)
	if err != nil {
		return err
	}
	if len(now.found) > 0 && !slices.Equal(now.found, before.found) {
		g.warn(now.found)
	}
	if now.open && !before.open {
		if err := g.Load(ctx); err != nil {
			return err
		}
		if err := g.NoteShards(ctx); err != nil {
			return err
		}
	}
	g.state.Store(now)
	if !now.open {
		return fmt.Errorf("%w: %s", ErrClosed, now.broken)
	}
	return nil
}

// look checks Redis and returns the new state of the gate. A Redis user without the rights that the queue needs is
// rejected with every profile, because operations would fail halfway.
func (g *Gate) look(ctx context.Context, open bool) (*gateState, error) {
	if !open {
		missing, err := g.MissingRights(ctx)
		if err != nil || len(missing) > 0 {
			return &gateState{broken: strings.Join(missing, "; "), found: missing}, err
		}
	}
	c, err := g.CheckContract(ctx)
	broken := c.Broken
	if g.profile != Attested {
		broken = slices.Concat(broken, c.Unseen)
	}
	return &gateState{
		open:   len(broken) == 0 || g.profile == Fast,
		broken: strings.Join(broken, "; "),
		found:  slices.Concat(c.Broken, c.Unseen, c.Weak),
	}, err
}

// Enqueue returns ErrClosed while the gate is closed.
func (g *Gate) Enqueue(ctx context.Context, b Batch) (Accepted, error) {
	if !g.state.Load().open {
		return Accepted{}, ErrClosed
	}
	return g.Redis.Enqueue(ctx, b)
}

// ReserveKey returns ErrClosed while the gate is closed.
func (g *Gate) ReserveKey(ctx context.Context, shard int, key, hash string, keep time.Duration) error {
	if !g.state.Load().open {
		return ErrClosed
	}
	return g.Redis.ReserveKey(ctx, shard, key, hash, keep)
}
