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

// notUpgraded are services that are not replaced by their previous version, because the schema of their index changes
// by a rebuild and only forward.
var notUpgraded = []string{"cdc", "search"}

// upgrade replaces all services by their previous version, one by one, and at the end by the current one.
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
	upgradeFrom := func(service string) []string { return []string{filepath.Join(p.previousBinaries(), service), "serve"} }
	present := func(service string) []string { return p.Endpoints.Commands[service] }
	return roll(upgradeFrom), roll(present)
}

func (p *platform) previousBinaries() string { return filepath.Join(p.Dir, "previous") }

// buildPrevious builds the programs of the previous version, once.
func (p *platform) buildPrevious(ctx context.Context) error {
	if _, err := os.Stat(p.previousBinaries()); err == nil {
		return nil
	}
	commit, err := previous.Commit(ctx)
	if err != nil {
		return err
	}
	services := slices.DeleteFunc(slices.Clone(p.services), func(s string) bool { return slices.Contains(notUpgraded, s) })
	building := p.previousBinaries() + ".new"
	if err := previous.Build(ctx, commit, building, services); err != nil {
		return err
	}
	return os.Rename(building, p.previousBinaries())
}

// mixesReleases reports whether a fault lets binaries of the previous version respond, which have another API document.
func mixesReleases(faults []fault) bool {
	return slices.ContainsFunc(faults, func(f fault) bool { return strings.HasPrefix(f.class, "upgrade") })
}
