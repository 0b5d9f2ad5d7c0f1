package roster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/progress"
)

const buildReport = 5 * time.Second

// Build compiles the services into directory with one `go build` and writes its progress. Builds of several stacks into
// one directory run one after the other.
func Build(ctx context.Context, root, directory string, services []Service, out io.Writer) error {
	unlock, err := lockDirectory(directory)
	if err != nil {
		return err
	}
	defer unlock()
	begin := time.Now()
	var names, packages []string
	for _, service := range services {
		names = append(names, service.Name)
		packages = append(packages, service.Package)
	}
	list := strings.Join(names, ", ")
	fmt.Fprintf(out, "building %s\n", list)
	var compiled atomic.Int64
	stop := progress.Every(buildReport, out, func() string {
		return fmt.Sprintf("building %s: %d packages compiled, %.0f s", list, compiled.Load(), time.Since(begin).Seconds())
	})
	output, err := goBuild(
		ctx,
		root,
		// Linking a service takes half the time without symbols.
		append([]string{"build", "-v", "-ldflags=-s -w", "-o", directory + string(filepath.Separator)}, packages...),
		&compiled,
	)
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, output)
	}
	fmt.Fprintf(
		out,
		"built %d services in %.1f s (%d packages compiled)\n",
		len(services),
		time.Since(begin).Seconds(),
		compiled.Load(),
	)
	return nil
}

// goBuild runs go build -v. It counts the import paths in the output, which are the compiled packages; every other line
// is a message of the compiler.
func goBuild(ctx context.Context, root string, args []string, compiled *atomic.Int64) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	process.DieWithParent(cmd)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var messages strings.Builder
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		if text := lines.Text(); strings.ContainsAny(text, " \t") {
			messages.WriteString(text + "\n")
		} else {
			compiled.Add(1)
		}
	}
	return messages.String(), cmd.Wait()
}

func lockDirectory(directory string) (unlock func(), err error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, fmt.Errorf("build directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(directory, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("build directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock build directory: %w", err)
	}
	return func() { file.Close() }, nil
}
