// Package stack prepares the platform of a benchmark: a sandbox of devstack, without the change-capture pipeline unless
// it is asked for, and the programs that make built.
package stack

import (
	"context"
	"os"
	"path/filepath"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

// New prepares a platform without starting it. extra holds variables for it and its services, such as
// "LAB_PIPELINE=on". The caller calls Remove.
func New(extra ...string) (*sandbox.Sandbox, error) {
	return sandbox.New(
		Binary("devstack"),
		append([]string{"LAB_PIPELINE=off", "LAB_DISTRIBUTIONS=" + distributions()}, extra...)...)
}

// distributions returns the folder with the Java engines' programs of the caller's own stack, so that no benchmark
// includes a download.
func distributions() string {
	if dir := os.Getenv("LAB_DISTRIBUTIONS"); dir != "" {
		return dir
	}
	if dir := os.Getenv("LAB_DIR"); dir != "" {
		return filepath.Join(dir, "distributions")
	}
	return filepath.Join(
		Binary("devstack"),
		"..",
		"..",
		".lab",
		"distributions",
	) // without make: the folder beside .bin that make uses
}

// Binary returns a program that make built beside this one.
func Binary(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}

// Start is New followed by the start of the platform, whose duration it prints.
func Start(ctx context.Context, r *report.Report, extra ...string) (*sandbox.Sandbox, error) {
	s, err := New(extra...)
	if err != nil {
		return nil, err
	}
	took, err := s.Up(ctx)
	if err != nil {
		s.Remove()
		return nil, err
	}
	r.Progress("a stack of its own is up after %.1f s", took.Seconds())
	return s, nil
}
