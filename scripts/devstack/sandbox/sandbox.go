// Package sandbox runs a complete private platform for tests and benchmarks, with its own folder, ports and engines. It
// can kill, freeze and restart single parts, as crashes and operators do.
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

// Sandbox is one platform, running or not: its folder, its ports and its processes.
type Sandbox struct {
	Dir       string              // LAB_DIR
	Endpoints endpoints.Endpoints // valid while the platform runs

	ports    ports.Plan
	devstack string
	env      []string
	spawner  *process.Spawner

	mu       sync.Mutex
	restarts map[string]*process.Child // parts that Start or StartCluster started; guarded by mu
	cluster  map[string][]string       // command lines of the cluster's engines
}

// New prepares a sandbox that is not running yet. devstack is the path of the program; extra are variables "KEY=value"
// for it and its services. The caller must call Remove.
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

// Build compiles devstack from this workspace and calls New with it.
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

// KafkaListener returns the address of the platform's broker, which is known before it runs. LAB_KAFKA_ADVERTISED
// directs clients elsewhere.
func (s *Sandbox) KafkaListener() string { return s.ports.Addr(ports.Kafka) }

// Fetch downloads the programs of all engines, so that the first start takes no longer than later ones.
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

// Down stops the platform and keeps its data.
func (s *Sandbox) Down(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	process.StopAll(slices.Collect(maps.Values(s.restarts)), 10*time.Second)
	clear(s.restarts)
	return s.Run(ctx, "down")
}

// Remove stops the platform and deletes its data.
func (s *Sandbox) Remove() {
	_ = s.Down(context.Background()) // fails when nothing runs
	s.spawner.Close()
	_ = os.RemoveAll(s.Dir)
}

// Run runs a verb of devstack on this sandbox, such as "seed fixture.json".
func (s *Sandbox) Run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.devstack, args...)
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("devstack %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// InternalToken runs the command of endpoints.json that prints a token for the gateway's internal listener. The token
// is valid for one minute.
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

// PID returns the pid of a service or engine: the process that Start started last, otherwise the platform's own.
func (s *Sandbox) PID(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if child := s.restarts[name]; child != nil {
		return child.PID
	}
	return s.Endpoints.PIDs[name]
}

// Signal sends a signal to a part, such as SIGSTOP to freeze it and SIGCONT to continue it.
func (s *Sandbox) Signal(name string, signal syscall.Signal) error {
	if err := syscall.Kill(s.PID(name), signal); err != nil {
		return fmt.Errorf("signal %v to %s: %w", signal, name, err)
	}
	return nil
}

// Kill ends a part with SIGKILL, like a crash, and waits until its process has ended.
func (s *Sandbox) Kill(name string) error { return s.end(name, syscall.SIGKILL) }

// Stop ends a part with SIGTERM, like an operator, and waits until its process has ended.
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

// Start starts a killed part again, with the platform's command line and environment, except for the variables in
// change. It does not wait until the part is ready.
func (s *Sandbox) Start(name string, change map[string]string) error {
	return s.StartProgram(name, s.Endpoints.Commands[name], change)
}

// StartProgram starts a part as Start does, with another command line.
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

// StartObjects serves the files of a folder over the S3 protocol at an address, in a process of its own named
// "objects".
func (s *Sandbox) StartObjects(folder, address string) error {
	return s.StartProgram("objects", []string{s.devstack, "objects", "--listen=" + address, "--data=" + folder}, nil)
}

// TakeOver renames the part by, which StartProgram started, to name, whose own process has ended. From then on, PID,
// Kill and Start of name use that part and the command line argv.
func (s *Sandbox) TakeOver(name, by string, argv []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts[name] = s.restarts[by]
	delete(s.restarts, by)
	s.Endpoints.Commands[name] = argv
}
