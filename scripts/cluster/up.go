package main

import (
	"context"
	_ "embed" // for the manifests below
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/scripts/cluster/internal/beside"
	"github.com/labplatform/labplatform/scripts/cluster/internal/node"
)

//go:embed coredns.yaml
var nameServer string

// up installs the whole platform. It continues where an earlier run stopped.
func (c cluster) up(ctx context.Context) error {
	if c.own {
		if err := errors.Join(requireRoot(), requirePrograms()); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"Kubernetes is ready", func() error { return c.startServing(ctx) }},
		{"names are answered", c.startNameServer},
		{"engines, with the demo laboratory", func() error { return c.startEngines(ctx) }},
		{"images", c.currentImages},
		{"namespace, addresses of the stores, Secrets", c.prepareNamespace},
		{"every chart alone, one by one", c.installAll},
	}
	for _, s := range steps {
		if err := step(s.what, s.do); err != nil {
			return err
		}
	}
	return c.printAddresses()
}

func (c cluster) pidFile() string { return filepath.Join(c.dir, "pid") }

func (c cluster) running() bool {
	text, err := os.ReadFile(c.pidFile())
	if err != nil {
		return false
	}
	id, err := strconv.Atoi(string(text))
	return err == nil && syscall.Kill(id, 0) == nil
}

// startServing starts serve in the background, unless it runs already, and waits for the node.
func (c cluster) startServing(ctx context.Context) error {
	if c.running() {
		return nil
	}
	log, err := os.Create(filepath.Join(c.dir, "serve.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(c.node.Program("cluster"), "serve")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(c.pidFile(), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		return err
	}
	alive, died := context.WithCancelCause(ctx)
	go func() {
		_ = cmd.Wait()
		text, _ := os.ReadFile(log.Name())
		died(fmt.Errorf("it has ended: %s", text))
	}()
	return await(alive, 3*time.Minute, func() error {
		_, err := c.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=5s")
		return err
	})
}

// serve runs the background process: the node, if this command owns one, and its helpers.
func (c cluster) serve(ctx context.Context) error {
	if c.own {
		return c.node.Serve(ctx, c.serveBeside)
	}
	return c.serveBeside(ctx)
}

// enginePorts maps the engines' ports that pods use to the offsets of a stack with LAB_PORT_BASE.
var enginePorts = map[int]int{3306: 30, 6379: 31, 27017: 32, 9092: 33, 8083: 35, 9200: 36}

const (
	objectsPort  = 9000
	sentinelPort = 26379
)

// serveBeside runs the helpers next to the cluster until ctx ends or one of them fails.
func (c cluster) serveBeside(ctx context.Context) error {
	ended := make(chan error, len(enginePorts)+2)
	for port, offset := range enginePorts {
		to := "127.0.0.1:" + strconv.Itoa(c.portBase+offset)
		go func() { ended <- beside.Forward(ctx, c.host+":"+strconv.Itoa(port), to) }()
	}
	go func() {
		ended <- runBeside(ctx, c.devstack("objects", "--listen="+c.host+":"+strconv.Itoa(objectsPort),
			"--data="+filepath.Join(c.stackDir(), "objects")).args)
	}()
	go func() { ended <- c.watchRedis(ctx) }()
	return <-ended
}

// watchRedis runs a Redis Sentinel that reports the address of Redis. It rewrites its own configuration file.
func (c cluster) watchRedis(ctx context.Context) error {
	file := filepath.Join(c.dir, "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind %s\nprotected-mode no\nsentinel monitor mymaster %s 6379 1\n", sentinelPort, c.host, c.host)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	return runBeside(ctx, []string{"redis-server", file, "--sentinel"})
}

// runBeside runs a program until ctx or this process ends.
func runBeside(ctx context.Context, args []string) error {
	runtime.LockOSThread() // the kernel ends the program with the thread, not with the process
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Run(); ctx.Err() == nil {
		return fmt.Errorf("%s has ended: %w", args[0], err)
	}
	return nil
}

func (c cluster) startNameServer() error {
	if !c.own {
		return nil
	}
	if err := c.apply(strings.NewReplacer("${DNS}", node.DNS, "${NODE_DNS}", node.NodeDNS).Replace(nameServer)); err != nil {
		return err
	}
	for _, server := range []string{"deployment/coredns", "daemonset/node-local-dns"} {
		if _, err := c.kubectl("-n", "kube-system", "rollout", "status", server, "--timeout=60s"); err != nil {
			return err
		}
	}
	return nil
}

// down ends all processes and deletes the files.
func (c cluster) down() error {
	if c.own {
		if err := requireRoot(); err != nil {
			return err
		}
	}
	var problems []error
	if _, err := os.Stat(c.stackDir()); err == nil {
		problems = append(problems, c.devstack("down").run())
	}
	if text, err := os.ReadFile(c.pidFile()); err == nil {
		if id, err := strconv.Atoi(string(text)); err == nil {
			problems = append(problems, end(id))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		problems = append(problems, err)
	}
	return errors.Join(append(problems, os.RemoveAll(c.dir))...)
}

// end terminates a process and waits for its end.
func end(id int) error {
	_ = syscall.Kill(id, syscall.SIGTERM) // it may have ended already
	return await(context.Background(), time.Minute, func() error {
		if syscall.Kill(id, 0) == nil {
			return fmt.Errorf("process %d continues", id)
		}
		return nil
	})
}
