package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// ExitRunning is the exit code of the verb run when the stack of its LAB_DIR runs already.
const ExitRunning = 3

const followInterval = 50 * time.Millisecond

// Up runs `binary --dir LAB_DIR run` in the background, shows its progress, and returns when the stack is ready. It
// returns nil if the stack is running already. When ctx ends first, the stack is stopped.
func Up(ctx context.Context, s settings.Settings, binary string, out io.Writer) error {
	if Running(s) {
		return sayRunning(s, out)
	}
	if err := endpoints.Remove(s.Dir); err != nil {
		return err
	}
	log, err := openLog(s)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), binary, "--dir", s.Dir, "run")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start devstack in the background: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return follow(ctx, s, log.Name(), cmd.Process, ended, out)
}

func sayRunning(s settings.Settings, out io.Writer) error {
	fmt.Fprintf(out, "the stack in %s runs already", s.Dir)
	if e, err := endpoints.Read(s.Dir); err == nil {
		fmt.Fprintf(out, ": %s", e.Gateway)
	} else {
		fmt.Fprint(out, " (it is starting or stopping)")
	}
	fmt.Fprintln(out)
	return nil
}

func openLog(s settings.Settings) (*os.File, error) {
	path := s.Log(supervisor)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make LAB_DIR: %w", err)
	}
	log, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return log, nil
}

// follow copies the log of the background process until endpoints.json exists. When ctx ends first, it stops the
// process and waits for its end.
func follow(
	ctx context.Context,
	s settings.Settings,
	path string,
	background *os.Process,
	ended <-chan error,
	out io.Writer,
) error {
	log, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer log.Close()
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	cancelled := ctx.Done()
	for {
		_, _ = io.Copy(out, log)
		select {
		case err := <-ended:
			_, _ = io.Copy(out, log)
			return explainEnd(s, err, out)
		case <-cancelled:
			_ = background.Signal(syscall.SIGTERM)
			cancelled = nil // the loop now waits until the process has ended
		case <-ticker.C:
			if summaryPrinted(s) {
				_, _ = io.Copy(out, log)
				return nil
			}
		}
	}
}

// summaryPrinted reports whether endpoints.json exists, which the stack writes last, after the summary.
func summaryPrinted(s settings.Settings) bool {
	_, err := endpoints.Read(s.Dir)
	return err == nil
}

func explainEnd(s settings.Settings, err error, out io.Writer) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == ExitRunning {
		return sayRunning(s, out)
	}
	return fmt.Errorf("the stack did not start; see %s", s.Log(supervisor))
}
