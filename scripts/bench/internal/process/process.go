// Package process runs the child processes of a benchmark and reads their CPU time and memory from the kernel.
package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 15 * time.Second
	stopTimeout  = 10 * time.Second
	// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on.
	ticksPerSecond = 100
)

// Process is a running child.
type Process struct{ cmd *exec.Cmd }

// Start runs argv with env added to the environment and waits until address accepts connections.
func Start(ctx context.Context, address string, env []string, argv ...string) (*Process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p := &Process{cmd}
	if err := await(ctx, address); err != nil {
		p.Stop()
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return p, nil
}

func await(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer", address)
		case <-tick.C:
		}
	}
}

// Stop ends the child with SIGTERM, then with SIGKILL if that takes too long.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	hard := time.AfterFunc(stopTimeout, func() { _ = p.cmd.Process.Kill() })
	defer hard.Stop()
	_ = p.cmd.Wait()
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// CPU returns the user and system time of a process since its start.
func CPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read cpu time: %w", err)
	}
	// The second field is the command in parentheses and may hold blanks.
	_, after, ok := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 13 {
		return 0, fmt.Errorf("read cpu time: unexpected /proc/%d/stat", pid)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read cpu time: %w", err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read cpu time: %w", err)
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}

// RSS returns the resident memory of a process in MiB.
func RSS(pid int) (float64, error) { return memory(pid, "VmRSS:") }

// PeakRSS returns the peak resident memory of a process in MiB, since its start or the last ResetPeakRSS.
func PeakRSS(pid int) (float64, error) { return memory(pid, "VmHWM:") }

// ResetPeakRSS sets the peak resident memory of a process to what is resident now.
func ResetPeakRSS(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("reset peak memory: %w", err)
	}
	return nil
}

func memory(pid int, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == field {
			kib, err := strconv.ParseFloat(fields[1], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("read memory: no %s of %d", field, pid)
}

// FreePort returns an unused port of 127.0.0.1.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
