package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
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

// buildFormer builds the programs of the release before, once: of the last tag, or of the commit that stands for it.
func (p *platform) buildFormer(ctx context.Context) error {
	if _, err := os.Stat(p.former()); err == nil {
		return nil
	}
	const script = `set -e; cd "$(git rev-parse --show-toplevel)"; mkdir -p "$1.source"
commit=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || grep -v '^#' scripts/e2e/upgrade/previous)
git archive "$commit" | tar -x -C "$1.source"; cd "$1.source"; shift; nice go build -trimpath -o "$former" "$@"`
	argv := []string{"-c", script, "build", p.former()}
	for _, service := range p.services {
		switch {
		case slices.Contains(notUpgraded, service):
		case service == "gateway":
			argv = append(argv, "./gateway/cmd/gateway")
		default:
			argv = append(argv, "./services/"+service+"/cmd/"+service)
		}
	}
	build := exec.CommandContext(ctx, "bash", argv...)
	build.Env = append(os.Environ(), "former="+p.former()+".new/")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the release before: %w\n%s", err, out)
	}
	return os.Rename(p.former()+".new", p.former())
}

// ready waits until a service says so.
func (p *platform) ready(ctx context.Context, service string) error {
	return until(ctx, time.Minute, "readiness of "+service, func(ctx context.Context) error {
		_, err := p.fetch(ctx, p.adminURL(service)+"/health/ready")
		return err
	})
}

// former tells whether programs of the release before may answer, whose document was another.
func former(faults []fault) bool {
	return slices.ContainsFunc(faults, func(f fault) bool { return strings.HasPrefix(f.class, "upgrade") })
}
