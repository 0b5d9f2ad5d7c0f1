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
	serviceGrace = 30 * time.Second // drain, finish, flush
	engineGrace  = 30 * time.Second
	readyTimeout = 2 * time.Minute
)

// Config is what Run needs beside the switches.
type Config struct {
	Settings settings.Settings
	Services []roster.Service
	Binary   string // this program, for the child that is the document store
	Caller   []string
	Out      io.Writer // progress and the summary
	Now      func() time.Time
}

// running is one stack on its way up, and then up.
type running struct {
	Config
	spawner *process.Spawner
	stack   roster.Stack
	target  string // MySQL DSN with the database
	java    install.Java

	engines  []*process.Child
	services []*process.Child
	environ  map[string]roster.Env
}

// Run starts everything, waits until ctx ends, and stops everything. It returns ErrRunning when the directory is
// taken. Any failure on the way up stops what was started.
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
	if err := endpoints.Write(r.Settings.Dir, r.endpoints()); err != nil { // last: who sees the file may rely on all
		return err
	}
	if r.Settings.Day {
		go r.playDays(ctx)
	}
	r.watch(ctx)
	return nil
}

// start reads top to bottom as what happens.
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

// prepareEngines fetches what is missing and starts it, while the services are compiled: one waits for the network, the
// other for the processor.
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

// inParallel runs the steps at once; the first failure cancels the others.
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

// firstCause prefers the failure that cancelled the others to the cancelled ones.
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

// requirePorts checks every port before anything is started.
func (r *running) requirePorts(ctx context.Context) error {
	for _, name := range r.listeners() {
		if err := process.RequireFreePort(ctx, r.Settings.Ports.Port(name), string(name)); err != nil {
			return err
		}
	}
	return nil
}

// watch tells when a child ends by itself, and otherwise leaves it: a test that kills a process starts it again.
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

// boundLogs keeps the children's logs from filling the disk until ctx ends.
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

// stop ends services before engines, and an engine that needs another one before that one; then it forgets them all.
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

// removeLeftovers ends what a devstack that was killed left running here.
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
