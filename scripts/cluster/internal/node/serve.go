package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Inside is the verb that runs the first process of the namespaces.
const Inside = "inside"

// namespaces are the node's own. There is no user namespace, because containers need the machine's root.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS |
	syscall.CLONE_NEWIPC

// Serve runs the node and, next to it, the helpers of its network, until ctx or one of them ends. Of the node, only its
// folder remains.
func (n Node) Serve(ctx context.Context, beside func(context.Context) error) (err error) {
	if err := n.prepare(); err != nil {
		return err
	}
	made := makeMountPoints()
	defer func() { err = errors.Join(err, disconnect(), removeGroups(), removeMountPoints(made)) }()
	if err := errors.Join(disconnect(), makeGroups()); err != nil { // remains of a killed node
		return err
	}
	runtime.LockOSThread() // the kernel kills the node when the thread that started it ends
	defer runtime.UnlockOSThread()
	first, begin, err := n.start()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	if err := connect(first.Process.Pid); err != nil {
		return errors.Join(err, first.Process.Kill(), <-ended)
	}
	if err := begin.Close(); err != nil {
		return err
	}
	helpers := make(chan error, 1)
	go func() { helpers <- beside(ctx) }()
	select {
	case err := <-ended:
		return fmt.Errorf("the node has ended (%w); see %s", err, n.Log("node"))
	case err := <-helpers: // nil after the end of ctx
		_ = first.Process.Kill()
		return errors.Join(err, killed(<-ended))
	}
}

func (n Node) prepare() error {
	if err := os.MkdirAll(n.Dir+"/log", 0o755); err != nil {
		return err
	}
	if err := n.writeCertificates(time.Now()); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	return n.writeSettings()
}

// start starts the first process. That process waits until its input is closed, which means that its network exists.
func (n Node) start() (*exec.Cmd, *os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	wait, begin, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	log, err := os.Create(n.Log("node"))
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	defer wait.Close()
	cmd := exec.Command(self, Inside, n.Bin, n.Dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = wait, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	return cmd, begin, cmd.Start()
}

// killed returns nil for an exit error, which is expected of a process that was terminated, and any other error
// unchanged.
func killed(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}
