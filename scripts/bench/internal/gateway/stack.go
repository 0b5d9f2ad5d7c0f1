package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

const (
	idle      = 10 * time.Second
	quickIdle = 3 * time.Second
)

// stack measures how long the stack takes from warm binaries, and its services' memory when nothing happens.
func stack(ctx context.Context, r *report.Report) error {
	rounds, rest := 3, idle
	if r.Quick {
		rounds, rest = 2, quickIdle
	}
	var fresh, again, memory []float64
	for range rounds {
		f, a, m, err := once(ctx, r, rest)
		if err != nil {
			return err
		}
		fresh, again, memory = append(fresh, f), append(again, a), append(memory, m)
	}
	r.Lower("stack_up_seconds_warm", "s", fresh, "", nil)
	r.Lower("stack_up_seconds_again", "s", again, "", nil)
	r.Lower("idle_rss_mib_max_service", "MiB", memory, "", nil)
	return nil
}

// once starts a stack without data, stops it, and starts it again on its data.
func once(ctx context.Context, r *report.Report, rest time.Duration) (fresh, again, rss float64, err error) {
	dir, err := os.MkdirTemp("", "labbench")
	if err != nil {
		return 0, 0, 0, err
	}
	defer os.RemoveAll(dir)
	base, err := freeBase()
	if err != nil {
		return 0, 0, 0, err
	}
	env := append(os.Environ(), "LAB_DIR="+dir, fmt.Sprintf("LAB_PORT_BASE=%d", base), "LAB_PIPELINE=off")
	defer func() { _, _ = devstack(context.WithoutCancel(ctx), env, "down") }()
	if fresh, err = devstack(ctx, env, "up"); err != nil {
		return 0, 0, 0, err
	}
	time.Sleep(rest)
	if rss, err = largest(r, dir); err != nil {
		return 0, 0, 0, err
	}
	if _, err = devstack(ctx, env, "down"); err != nil {
		return 0, 0, 0, err
	}
	again, err = devstack(ctx, env, "up")
	return fresh, again, rss, err
}

// largest returns the memory of the service that uses most.
func largest(r *report.Report, dir string) (float64, error) {
	e, err := endpoints.Read(dir)
	if err != nil {
		return 0, err
	}
	engines := []string{"mysql", "redis", "mongo", "kafka", "connector", "elasticsearch"}
	most := 0.0
	for name, pid := range e.PIDs {
		if slices.Contains(engines, name) {
			continue
		}
		mib, err := process.RSS(pid)
		if err != nil {
			return 0, err
		}
		r.Progress("idle memory of %-12s %6.1f MiB", name, mib)
		most = max(most, mib)
	}
	return most, nil
}

func devstack(ctx context.Context, env []string, verb string) (seconds float64, err error) {
	cmd := exec.CommandContext(ctx, binary("devstack"), verb)
	cmd.Env = env
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("devstack %s: %w\n%s", verb, err, out)
	}
	return time.Since(start).Seconds(), nil
}

// freeBase returns a port base whose hundred ports are free.
func freeBase() (int, error) {
	for base := 21000; base < 32000; base += 100 {
		if free(base) {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no hundred free ports between 21000 and 32000")
}

func free(base int) bool {
	for port := base; port < base+100; port++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		_ = listener.Close()
	}
	return true
}

// binary returns a program that make built beside this one.
func binary(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	return filepath.Join(filepath.Dir(self), name)
}
