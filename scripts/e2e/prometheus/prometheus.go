// Package prometheus runs a real Prometheus, from Debian's package, against a platform under test.
package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Fetch downloads Debian's package of Prometheus with apt and unpacks prometheus and promtool into folder. It installs
// nothing on the machine.
func Fetch(ctx context.Context, folder string) error {
	const script = `cd "$1" && apt-get -q -o APT::Sandbox::User="$(id -un)" download prometheus && dpkg -x prometheus_*.deb .`
	out, err := exec.CommandContext(ctx, "bash", "-c", script, "fetch", folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("fetch prometheus: %w\n%s", err, out)
	}
	return nil
}

// Namespace is the value of the label namespace of every target.
const Namespace = "lab"

// Check checks files of rules with promtool, and runs the unit tests in the files tests. It returns promtool's output.
func Check(ctx context.Context, folder string, rules []string, tests ...string) (string, error) {
	var said strings.Builder
	check, play := append([]string{"check", "rules"}, rules...), append([]string{"test", "rules"}, tests...)
	for _, args := range [][]string{check, play} {
		out, err := exec.CommandContext(ctx, filepath.Join(folder, "usr/bin/promtool"), args...).CombinedOutput()
		said.Write(out)
		if err != nil {
			return said.String(), fmt.Errorf("promtool %s: %w", args[0], err)
		}
	}
	return said.String(), nil
}

// Server is a running Prometheus. Its caller must call Stop.
type Server struct {
	base string
	cmd  *exec.Cmd
}

// Start scrapes the targets (host:port by job) and evaluates the files of rules, both once per pause.
func Start(
	ctx context.Context, folder string, rules []string, targets map[string]string, pause time.Duration,
) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a port: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, fmt.Errorf("find a port: %w", err)
	}
	config := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(config, []byte(configuration(rules, targets, pause)), 0o600); err != nil {
		return nil, fmt.Errorf("configure prometheus: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(folder, "usr/bin/prometheus"), "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start prometheus: %w", err)
	}
	return &Server{base: "http://" + address, cmd: cmd}, nil
}

// Stop kills the process and waits for its end.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill() // its data is not used again
	_ = s.cmd.Wait()
}

func configuration(rules []string, targets map[string]string, pause time.Duration) string {
	var out strings.Builder
	_, _ = fmt.Fprintf(
		&out,
		"global: {scrape_interval: %[1]v, scrape_timeout: %[1]v, evaluation_interval: %[1]v}\nrule_files: [%[2]s]\nscrape_configs:\n",
		pause, strings.Join(rules, ", "),
	)
	for job, target := range targets {
		_, _ = fmt.Fprintf(&out, "  - {job_name: %s, static_configs: [{targets: ['%s'], labels: {namespace: %s}}]}\n", job, target, Namespace)
	}
	return out.String()
}

// client stops waiting for a server that does not respond.
var client = &http.Client{Timeout: 10 * time.Second}

// Series returns the number of series that an expression currently has.
func (s *Server) Series(ctx context.Context, expr string) (int, error) {
	request, err := http.NewRequestWithContext(
		ctx,
		http.MethodGet,
		s.base+"/api/v1/query?"+url.Values{"query": {expr}}.Encode(),
		nil,
	)
	if err != nil {
		return 0, fmt.Errorf("query %s: %w", expr, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("query %s: %w", expr, err)
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("query %s: %w", expr, err)
	}
	if answer.Error != "" {
		return 0, fmt.Errorf("query %s: %s", expr, answer.Error)
	}
	return len(answer.Data.Result), nil
}
