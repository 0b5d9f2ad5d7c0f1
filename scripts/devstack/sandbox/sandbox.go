// Package sandbox runs a whole platform of one's own, for tests and benchmarks: its own folder, ports and engines. It
// kills, freezes and restarts single parts of it, as crashes and operators do.
package sandbox

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

const endTimeout = time.Minute

// Sandbox is a folder and a port base on which a platform may run.
type Sandbox struct {
	Dir       string              // LAB_DIR
	Endpoints endpoints.Endpoints // of the running platform

	ports    ports.Plan
	devstack string
	env      []string
	spawner  *process.Spawner

	mu       sync.Mutex
	restarts map[string]*process.Child // guarded by mu; parts that Start or StartCluster started
	cluster  map[string][]string       // the commands of the cluster's engines
}

// New prepares a sandbox that does not run yet. devstack is the program's path, extra are variables "KEY=value" for it
// and its services. The caller calls Remove.
func New(devstack string, extra ...string) (*Sandbox, error) {
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	base, err := endpoints.FreeBase()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	plan, err := ports.Parse(strconv.Itoa(base))
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	pids := filepath.Join(dir, "sandbox")
	if err := os.Mkdir(pids, 0o755); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	env := append(os.Environ(), "LAB_DIR="+dir, fmt.Sprintf("LAB_PORT_BASE=%d", base))
	return &Sandbox{
		Dir:      dir,
		ports:    plan,
		devstack: devstack,
		env:      append(env, extra...),
		restarts: map[string]*process.Child{},
		cluster:  map[string][]string{},
		spawner:  process.NewSpawner(process.Directory(pids)),
	}, nil
}

// Build is New with a devstack built from this workspace.
func Build(ctx context.Context, extra ...string) (*Sandbox, error) {
	s, err := New("", extra...)
	if err != nil {
		return nil, err
	}
	s.devstack = filepath.Join(s.Dir, "devstack")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", s.devstack, "github.com/labplatform/labplatform/scripts/devstack").
		CombinedOutput(); err != nil {
		s.Remove()
		return nil, fmt.Errorf("build devstack: %w\n%s", err, out)
	}
	return s, nil
}

// KafkaListener is where the platform's broker listens, known before it runs. LAB_KAFKA_ADVERTISED sends clients
// elsewhere.
func (s *Sandbox) KafkaListener() string { return s.ports.Addr(ports.Kafka) }

// Fetch makes the programs of all engines available before the first start, which then takes no longer than others.
func (s *Sandbox) Fetch(ctx context.Context) error { return s.Run(ctx, "engines", "--", "true") }

// Up starts the platform, waits until it is ready and returns how long that took.
func (s *Sandbox) Up(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	if err := s.Run(ctx, "up"); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	var err error
	if s.Endpoints, err = endpoints.Read(s.Dir); err == nil {
		maps.Copy(s.Endpoints.Commands, s.cluster)
	}
	return took, err
}

// Down stops it; its data stays.
func (s *Sandbox) Down(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	process.StopAll(slices.Collect(maps.Values(s.restarts)), 10*time.Second)
	clear(s.restarts)
	return s.Run(ctx, "down")
}

// Remove stops it and deletes its data.
func (s *Sandbox) Remove() {
	_ = s.Down(context.Background()) // nothing may run yet
	s.spawner.Close()
	_ = os.RemoveAll(s.Dir)
}

// Run executes one of devstack's verbs on this sandbox, as "seed fixture.json".
func (s *Sandbox) Run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.devstack, args...)
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("devstack %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// InternalToken returns a token for the internal listener, by the command that endpoints.json names. It lives a minute.
func (s *Sandbox) InternalToken(ctx context.Context) (string, error) {
	argv := s.Endpoints.InternalTokenCommand
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LAB_DIR="+s.Dir)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("mint an internal token: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// PID returns the process of a service or engine: the platform's own, or the one that Start made last.
func (s *Sandbox) PID(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if child := s.restarts[name]; child != nil {
		return child.PID
	}
	return s.Endpoints.PIDs[name]
}

// Signal sends a signal to a part: SIGSTOP freezes it, SIGCONT lets it continue.
func (s *Sandbox) Signal(name string, signal syscall.Signal) error {
	if err := syscall.Kill(s.PID(name), signal); err != nil {
		return fmt.Errorf("signal %v to %s: %w", signal, name, err)
	}
	return nil
}

// Kill ends a part as a crash would and waits until its process has ended.
func (s *Sandbox) Kill(name string) error { return s.end(name, syscall.SIGKILL) }

// Stop ends a part as an operator would and waits until its process has ended.
func (s *Sandbox) Stop(name string) error { return s.end(name, syscall.SIGTERM) }

func (s *Sandbox) end(name string, signal syscall.Signal) error {
	pid := s.PID(name)
	if err := s.Signal(name, signal); err != nil {
		return err
	}
	deadline := time.Now().Add(endTimeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for now := range tick.C {
		if syscall.Kill(pid, 0) != nil {
			return nil
		}
		if now.After(deadline) {
			return fmt.Errorf("%s still runs %v after %v", name, endTimeout, signal)
		}
	}
	return nil
}

// Start starts a part that was killed exactly as the platform did, but for the variables in change, and does not wait
// until it is ready.
func (s *Sandbox) Start(name string, change map[string]string) error {
	return s.StartProgram(name, s.Endpoints.Commands[name], change)
}

// StartProgram is Start with another program.
func (s *Sandbox) StartProgram(name string, argv []string, change map[string]string) error {
	env := maps.Clone(s.Endpoints.Environ[name])
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, change)
	spec := process.Spec{Name: name, Command: argv, LogFile: filepath.Join(s.Dir, "logs", name+".log")}
	for key, value := range env {
		spec.Env = append(spec.Env, key+"="+value)
	}
	child, err := s.spawner.Start(spec)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts[name] = child
	return nil
}

// StartObjects serves the folder of objects by S3 at an address, as a program of its own.
func (s *Sandbox) StartObjects(folder, address string) error {
	return s.StartProgram("objects", []string{s.devstack, "objects", "--listen=" + address, "--data=" + folder}, nil)
}

// TakeOver gives a part that StartProgram started the name of an ended one: that is how it is found, ended and
// started from now on.
func (s *Sandbox) TakeOver(name, by string, argv []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts[name] = s.restarts[by]
	delete(s.restarts, by)
	s.Endpoints.Commands[name] = argv
}
