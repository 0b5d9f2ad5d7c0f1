package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// Spec describes a child process to start.
type Spec struct {
	Name    string   // also the name of its pid file
	Command []string // arguments; the first is the path of the program
	Env     []string // KEY=value; overrides devstack's own environment
	LogFile string   // opened in append mode
}

// Spawner starts children from one operating-system thread, which lives as long as the Spawner. The kernel binds
// "signal the child when its parent dies" to the thread that forked, not to the process.
type Spawner struct {
	pids     Directory
	requests chan request
}

type request struct {
	cmd    *exec.Cmd
	result chan error
}

// NewSpawner returns a spawner that records its children in pids. Close it after its children have ended.
func NewSpawner(pids Directory) *Spawner {
	s := &Spawner{pids: pids, requests: make(chan request)}
	go s.serve()
	return s
}

// Close releases the thread. No Start may follow.
func (s *Spawner) Close() { close(s.requests) }

func (s *Spawner) serve() {
	runtime.LockOSThread()
	for r := range s.requests {
		r.result <- r.cmd.Start()
	}
	runtime.UnlockOSThread() // without it the thread, and what it forked earlier, would end here
}

// Start starts a child in its own process group and writes its pid file.
func (s *Spawner) Start(spec Spec) (*Child, error) {
	if err := os.MkdirAll(filepath.Dir(spec.LogFile), 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	if err := BoundLog(spec.LogFile, MaxLog); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	defer log.Close()
	cmd := exec.CommandContext(context.Background(), spec.Command[0], spec.Command[1:]...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	r := request{cmd: cmd, result: make(chan error, 1)}
	s.requests <- r
	if err := <-r.result; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	// The pid file is written before Wait: until Wait even a process that ended at once has its entry in /proc.
	err = s.pids.Write(spec.Name, cmd.Process.Pid)
	child := newChild(spec, cmd)
	if err != nil {
		child.Stop(0)
		return nil, err
	}
	return child, nil
}
