package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/roster"
)

func (r *running) command(service roster.Service, verb string) []string {
	return []string{filepath.Join(r.Settings.Bin, service.Name), verb}
}

// migrate runs `migrate` of every service that has this verb, in parallel, because each has its own version table and
// lock.
func (r *running) migrate(ctx context.Context) error {
	var steps []func(context.Context) error
	var list []string
	for _, service := range r.Services {
		if !service.Migrates {
			continue
		}
		list = append(list, service.Name)
		steps = append(steps, func(ctx context.Context) error { return r.migrateOne(ctx, service) })
	}
	if len(steps) == 0 {
		return nil
	}
	fmt.Fprintf(r.Out, "migrating %s\n", strings.Join(list, ", "))
	return inParallel(ctx, steps...)
}

func (r *running) migrateOne(ctx context.Context, service roster.Service) error {
	command := r.command(service, "migrate")
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), service.Environment(r.stack, r.Caller).Pairs()...)
	process.DieWithParent(cmd)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s migrate: %w\n%s", service.Name, err, output)
	}
	return nil
}

// startServices starts all services, then waits until each is ready. They may become ready in any order.
func (r *running) startServices(ctx context.Context) error {
	var steps []func(context.Context) error
	var list []string
	for _, service := range r.Services {
		list = append(list, service.Name)
		env := service.Environment(r.stack, r.Caller)
		r.environ[service.Name] = env
		child, err := r.spawner.Start(process.Spec{Name: service.Name, Command: r.command(service, "serve"),
			Env: env.Pairs(), LogFile: r.Settings.Log(service.Name)})
		if err != nil {
			return err
		}
		r.services = append(r.services, child)
		ready := r.stack.URL(service.HealthPort) + "/health/ready"
		steps = append(steps, func(ctx context.Context) error {
			return process.Await(ctx, child, func(ctx context.Context) error { return requireOK(ctx, ready) })
		})
	}
	fmt.Fprintf(r.Out, "starting %s\n", strings.Join(list, ", "))
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errors.New("waited "+readyTimeout.String()))
	defer cancel()
	return inParallel(ctx, steps...)
}

// requireOK returns nil when a health endpoint responds with 200. The error has the first bytes of the body, which name
// the missing dependency.
func requireOK(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Timeout: readyTimeout}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 512))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s answers %d %s", url, response.StatusCode, strings.TrimSpace(string(body)))
	}
	return nil
}
