package distributions

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/internal/process"
	"github.com/labplatform/labplatform/scripts/devstack/internal/progress"
)

// copyArtifacts is the Maven goal, with the version of its plugin.
const copyArtifacts = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

const (
	fetchReport = 2 * time.Second
	keptLines   = 25 // max lines of Maven's output in an error
)

// fetch copies the artifacts of a POM and their dependencies into dir. An artifact with a wrong checksum is an error.
func fetch(ctx context.Context, tools Tools, what, pom, dir string, out io.Writer) error {
	begin := time.Now()
	fmt.Fprintf(out, "fetching %s with Maven (this happens once)\n", what)
	cmd := exec.CommandContext(ctx, tools.Maven, "-B", "-C", "-Dstyle.color=never", "-f", pom, copyArtifacts,
		"-DoutputDirectory="+dir, "-DincludeScope=runtime")
	process.DieWithParent(cmd)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run Maven: %w", err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run Maven: %w", err)
	}
	var fetched atomic.Int64
	stop := progress.Every(fetchReport, out, func() string {
		return fmt.Sprintf("fetching %s: %.1f MB, %.0f s", what, float64(fetched.Load())/1e6, time.Since(begin).Seconds())
	})
	messages := follow(pipe, &fetched)
	err = cmd.Wait()
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%w", explain(tools, err, messages))
	}
	fmt.Fprintf(out, "fetched %s: %.1f MB in %.1f s\n", what, float64(fetched.Load())/1e6, time.Since(begin).Seconds())
	return nil
}

// follow reads Maven's output to its end, adds the downloaded bytes to fetched, and returns the last keptLines of the
// other lines.
func follow(output io.Reader, fetched *atomic.Int64) []string {
	var kept []string
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if size, ok := downloaded(line); ok {
			fetched.Add(size)
			continue
		}
		if strings.Contains(line, "Downloading from") || strings.TrimSpace(line) == "" {
			continue
		}
		if kept = append(kept, line); len(kept) > keptLines {
			kept = kept[1:]
		}
	}
	return kept
}

var sizeOf = regexp.MustCompile(`Downloaded from .* \(([0-9.]+) ([kMG]?)B at `)

// downloaded parses a line such as "[INFO] Downloaded from central: https://… (4.2 kB at 29 kB/s)".
func downloaded(line string) (bytes int64, ok bool) {
	match := sizeOf.FindStringSubmatch(line)
	if match == nil {
		return 0, false
	}
	number, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		return 0, false
	}
	return int64(number * map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[match[2]]), true
}

func explain(tools Tools, err error, messages []string) error {
	return fmt.Errorf("%s could not fetch the artifacts (%w). It reads its mirrors and proxies from ~/.m2/settings.xml; "+
		"once the repository can be reached, start again: what was fetched is kept. Its last words:\n%s",
		filepath.Base(tools.Maven), err, strings.Join(messages, "\n"))
}
