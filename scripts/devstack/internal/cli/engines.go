package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/internal/engines"
	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
)

const (
	testMySQL = "LAB_TEST_MYSQL_DSN"
	testMongo = "LAB_TEST_MONGO_URI"
)

// runEngines starts the engines that the caller's environment does not name, in a temporary directory, runs the
// command with their addresses, and ends with the command's exit code.
func runEngines(ctx context.Context, args []string, stderr io.Writer) (int, error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New("engines needs a command: devstack engines -- go test ./…")
	}
	wanted := engines.Wanted{MySQL: os.Getenv(testMySQL) == "", Redis: true}
	if err := engines.Install(ctx, wanted, stderr); err != nil {
		return 1, err
	}
	work, err := os.MkdirTemp("", "labengines-")
	if err != nil {
		return 1, fmt.Errorf("temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	spawner := process.NewSpawner(process.Directory(work))
	defer spawner.Close()
	env, stop, err := startTestEngines(ctx, spawner, work, stderr)
	defer stop()
	if err != nil {
		return 1, err
	}
	return runWith(ctx, args, env)
}

// startTestEngines returns the environment for the command; stop ends what was started, also after an error.
func startTestEngines(ctx context.Context, spawner *process.Spawner, work string, stderr io.Writer) ([]string, func(), error) {
	begin := time.Now()
	var wanted []engines.Engine
	env := []string{"LAB_REQUIRE_ENGINES=1"}
	place := func(name string) (engines.Place, error) {
		port, err := freePort(ctx)
		return engines.Place{Data: filepath.Join(work, name), Log: filepath.Join(work, name+".log"), Port: port}, err
	}
	if os.Getenv(testMySQL) == "" {
		at, err := place("mysql")
		if err != nil {
			return nil, func() {}, err
		}
		engine, err := engines.MariaDB(at, engines.Volatile)
		if err != nil {
			return nil, func() {}, err
		}
		wanted = append(wanted, engine)
		env = append(env, fmt.Sprintf("%s=root@tcp(127.0.0.1:%d)/", testMySQL, at.Port))
	}
	if os.Getenv(testMongo) == "" {
		at, err := place("mongo")
		if err != nil {
			return nil, func() {}, err
		}
		executable, err := os.Executable()
		if err != nil {
			return nil, func() {}, fmt.Errorf("find this program: %w", err)
		}
		wanted = append(wanted, engines.DocumentStore(at, executable))
		env = append(env, fmt.Sprintf("%s=mongodb://127.0.0.1:%d/", testMongo, at.Port))
	}
	children, err := engines.StartAll(ctx, spawner, wanted)
	stop := func() { process.StopAll(children, 0) }
	if err == nil {
		fmt.Fprintf(stderr, "devstack: test engines ready in %.1f s\n", time.Since(begin).Seconds())
	}
	return env, stop, err
}

// runWith runs the command in the foreground. Ctrl-C reaches it from the terminal; this process only waits.
func runWith(ctx context.Context, args, env []string) (int, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 127, err
	}
	done := make(chan struct{})
	defer close(done)
	go forward(signals, done, cmd.Process)
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		return 1, fmt.Errorf("%s: %w", args[0], err)
	case err != nil:
		return 1, err
	}
	return 0, nil
}

// forward passes SIGTERM on; an interrupt has reached the command already, from the terminal.
func forward(signals <-chan os.Signal, done <-chan struct{}, command *os.Process) {
	for {
		select {
		case <-done:
			return
		case s := <-signals:
			if s != os.Interrupt {
				_ = command.Signal(s)
			}
		}
	}
}

func freePort(ctx context.Context) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
