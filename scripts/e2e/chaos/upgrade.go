package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/scripts/e2e/previous"
)

// notUpgraded are not replaced by their predecessors: their index has a schema of its own, which goes forward by a
// rebuild.
var notUpgraded = []string{"cdc", "search"}

// upgrade goes back to the release before, service by service, and comes to the present one in the same way.
func upgrade(p *platform, _ string) (begin, end func(context.Context) error) {
	roll := func(command func(service string) []string) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, service := range p.services {
				if slices.Contains(notUpgraded, service) {
					continue
				}
				err := errors.Join(p.Stop(service), p.StartProgram(service, command(service), nil), p.ready(ctx, service))
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	former := func(service string) []string { return []string{filepath.Join(p.former(), service), "serve"} }
	present := func(service string) []string { return p.Endpoints.Commands[service] }
	return roll(former), roll(present)
}

func (p *platform) former() string { return filepath.Join(p.Dir, "former") }

// buildFormer builds the programs of the release before, once.
func (p *platform) buildFormer(ctx context.Context) error {
	if _, err := os.Stat(p.former()); err == nil {
		return nil
	}
	commit, err := previous.Commit(ctx)
	if err != nil {
		return err
	}
	services := slices.DeleteFunc(slices.Clone(p.services), func(s string) bool { return slices.Contains(notUpgraded, s) })
	building := p.former() + ".new"
	if err := previous.Build(ctx, commit, building, services); err != nil {
		return err
	}
	return os.Rename(building, p.former())
}

// former tells whether programs of the release before may answer, whose document was another.
func former(faults []fault) bool {
	return slices.ContainsFunc(faults, func(f fault) bool { return strings.HasPrefix(f.class, "upgrade") })
}
