package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/roster"
	"github.com/labplatform/labplatform/scripts/devstack/internal/secrets"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
	"github.com/labplatform/labplatform/scripts/devstack/internal/traceviewer"
)

const (
	serviceGrace = 30 * time.Second // the service drains, finishes its work and flushes
	engineGrace  = 30 * time.Second
	readyTimeout = 2 * time.Minute
)

// Config is the input of Run.
type Config struct {
	Settings settings.Settings
	Services []roster.Service
	Binary   string // path of this program, which also runs the document store
	Caller   []string
	Out      io.Writer // for progress and the summary
	Now      func() time.Time
}

// running is the state of a stack that is starting or ready.
type running struct {
	Config
	spawner *process.Spawner
	stack   roster.Stack
	target  string // MySQL DSN with the database name
	java    install.Java

	engines  []*process.Child
	services []*process.Child
	environ  map[string]roster.Env
}

// Run starts the stack, waits until ctx ends, and stops it. It returns ErrRunning when another devstack uses the
// directory. When a part fails to start, the started ones are stopped.
func Run(ctx context.Context, c Config) error {
	release, err := takeDirectory(c.Settings)
	if err != nil {
		return err
	}
	defer release()
	pids := process.Directory(c.Settings.Run())
	removeLeftovers(pids, c.Out)
	if err := endpoints.Remove(c.Settings.Dir); err != nil {
		return err
	}
	r := &running{Config: c, spawner: process.NewSpawner(pids), environ: map[string]roster.Env{}}
	defer r.spawner.Close()
	defer r.stop()
	begin := c.Now()
	if err := r.start(ctx); err != nil {
		if ctx.Err() != nil {
			return errors.New("stopped while starting")
		}
		return err
	}
	fmt.Fprintf(c.Out, "ready in %.1f s\n\n", c.Now().Sub(begin).Seconds())
	r.printSummary()
	if err := endpoints.Write(r.Settings.Dir, r.endpoints()); err != nil { // last: readers rely on all parts being ready
		return err
	}
	if r.Settings.Day {
		go r.playDays(ctx)
	}
	r.watch(ctx)
	return nil
}

// start runs the steps of a start in order.
func (r *running) start(ctx context.Context) error {
	if err := r.requirePorts(ctx); err != nil {
		return err
	}
	kept, err := secrets.LoadOrCreate(r.Settings.Dir)
	if err != nil {
		return err
	}
	if err := r.describe(kept); err != nil {
		return err
	}
	if r.Settings.Traces {
		collector, viewer := r.stack.TraceCollector, r.Settings.Ports.Addr(ports.TraceViewer)
		if err := traceviewer.Start(ctx, collector, viewer); err != nil {
			return err
		}
	}
	if err := inParallel(ctx, r.build, r.prepareEngines); err != nil {
		return err
	}
	if err := r.migrate(ctx); err != nil {
		return err
	}
	if err := inParallel(ctx, r.seed, r.admitConnectors); err != nil {
		return err
	}
	if err := r.startServices(ctx); err != nil {
		return err
	}
	return r.awaitConnectors(ctx)
}

// prepareEngines downloads and starts the engines while the services are compiled. One waits for the network, the other
// for the CPU.
func (r *running) prepareEngines(ctx context.Context) error {
	if err := r.install(ctx); err != nil {
		return err
	}
	return r.prepareStores(ctx)
}

// install makes the programs of the engines available.
func (r *running) install(ctx context.Context) error {
	wanted := install.WantedBy(r.Settings)
	if err := install.Packages(ctx, wanted, r.Out); err != nil {
		return err
	}
	var err error
	r.java, err = install.FetchJava(ctx, wanted, r.Out)
	return err
}

// inParallel runs the steps concurrently and waits for all. The first failure cancels the others.
func inParallel(ctx context.Context, steps ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	problems := make([]error, len(steps))
	var group sync.WaitGroup
	for i, step := range steps {
		group.Go(func() {
			if problems[i] = step(ctx); problems[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	return firstCause(problems)
}

// firstCause returns the first error that is not a cancellation, because a failure cancels the other steps. Without one
// it returns the last cancellation, or nil.
func firstCause(problems []error) error {
	var cancelled error
	for _, err := range problems {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil {
			cancelled = err
		}
	}
	return cancelled
}

func (r *running) build(ctx context.Context) error {
	return roster.Build(ctx, r.Settings.Root, r.Settings.Bin, r.Services, r.Out)
}

// requirePorts returns an error when a port of the stack is taken, before anything is started.
func (r *running) requirePorts(ctx context.Context) error {
	for _, name := range r.listeners() {
		if err := process.RequireFreePort(ctx, r.Settings.Ports.Port(name), string(name)); err != nil {
			return err
		}
	}
	return nil
}

// watch reports children that end by themselves. It does not restart them, because tests kill processes and start them
// again. It returns when ctx ends.
func (r *running) watch(ctx context.Context) {
	var group sync.WaitGroup
	for _, child := range append(r.engines, r.services...) {
		group.Go(func() {
			select {
			case <-ctx.Done():
			case <-child.Ended():
				process.Directory(r.Settings.Run()).Remove(child.Name)
				fmt.Fprintf(r.Out, "%s ended (%s); see %s\n", child.Name, child.How(), child.LogFile)
			}
		})
	}
	r.boundLogs(ctx)
	group.Wait()
}

// boundLogs limits the size of the children's logs, once a minute, until ctx ends.
func (r *running) boundLogs(ctx context.Context) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, child := range slices.Concat(r.engines, r.services) {
			if err := process.BoundLog(child.LogFile, process.MaxLog); err != nil {
				fmt.Fprintln(r.Out, err)
			}
		}
	}
}

// stop ends the services first, then Kafka Connect, which needs Kafka, then the other engines. Then it removes their
// pid files.
func (r *running) stop() {
	if err := endpoints.Remove(r.Settings.Dir); err != nil {
		fmt.Fprintln(r.Out, err)
	}
	fmt.Fprintln(r.Out, "stopping")
	pids := process.Directory(r.Settings.Run())
	process.StopAll(r.services, serviceGrace)
	leaning := slices.IndexFunc(r.engines, func(c *process.Child) bool { return c.Name == "connector" })
	if leaning >= 0 {
		r.engines[leaning].Stop(engineGrace)
	}
	process.StopAll(r.engines, engineGrace)
	for _, child := range append(r.engines, r.services...) {
		pids.Remove(child.Name)
	}
	fmt.Fprintln(r.Out, "stopped")
}

// removeLeftovers ends the processes of this stack that a killed devstack left running.
func removeLeftovers(pids process.Directory, out io.Writer) {
	var group sync.WaitGroup
	for name, id := range pids.Alive() {
		if name == supervisor || id.PID == os.Getpid() {
			continue
		}
		fmt.Fprintf(out, "ending %s (process %d), left by an earlier run\n", name, id.PID)
		group.Go(func() { process.StopStranger(id, engineGrace); pids.Remove(name) })
	}
	group.Wait()
}
