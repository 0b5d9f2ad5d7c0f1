// Package stack starts a whole platform of its own for a benchmark: its own folder, ports and engines, without
// the change-capture pipeline unless that is asked for.
package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

// Stack is a folder and a port base on which a platform may run.
type Stack struct {
	Dir string
	env []string
}

// New prepares a stack that does not run yet. extra are variables for it and its services, "KEY=value", e.g.
// "LAB_PIPELINE=on". The caller calls Remove.
func New(extra ...string) (*Stack, error) {
	dir, err := os.MkdirTemp("", "labbench")
	if err != nil {
		return nil, err
	}
	base, err := endpoints.FreeBase()
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "LAB_DIR="+dir, fmt.Sprintf("LAB_PORT_BASE=%d", base), "LAB_PIPELINE=off",
		"LAB_DISTRIBUTIONS="+distributions())
	return &Stack{Dir: dir, env: append(env, extra...)}, nil
}

// distributions is the folder of the Java engines' programs that the caller's own stack uses: a fetch is no part of a
// benchmark.
func distributions() string {
	if dir := os.Getenv("LAB_DISTRIBUTIONS"); dir != "" {
		return dir
	}
	return filepath.Join(os.Getenv("LAB_DIR"), "distributions")
}

// Fetch makes the programs of all engines available.
func (s *Stack) Fetch(ctx context.Context) error {
	for _, name := range []string{"kafka", "elasticsearch"} {
		if there, err := filepath.Glob(filepath.Join(distributions(), name+"-*")); err != nil || len(there) == 0 {
			return s.devstack(ctx, "engines", "--", "true")
		}
	}
	return nil
}

// Up starts the platform and returns how long it took, and where everything is.
func (s *Stack) Up(ctx context.Context) (time.Duration, endpoints.Endpoints, error) {
	start := time.Now()
	if err := s.devstack(ctx, "up"); err != nil {
		return 0, endpoints.Endpoints{}, err
	}
	took := time.Since(start)
	e, err := endpoints.Read(s.Dir)
	return took, e, err
}

// Down stops it; its data stays.
func (s *Stack) Down(ctx context.Context) error { return s.devstack(ctx, "down") }

// Remove stops it and deletes its data.
func (s *Stack) Remove() {
	_ = s.devstack(context.Background(), "down")
	_ = os.RemoveAll(s.Dir)
}

func (s *Stack) devstack(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, Binary("devstack"), args...)
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("devstack %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// Binary returns a program that make built beside this one.
func Binary(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}
