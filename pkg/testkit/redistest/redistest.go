// Package redistest owns a private redis-server process per test: append-only file with fsync at every write,
// no eviction, no snapshots, data in the test's temporary directory. Kill and Restart make crash tests possible.
package redistest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
	"github.com/labplatform/labplatform/pkg/testkit/freeport"
)

const (
	startTimeout  = 20 * time.Second
	pollInterval  = 5 * time.Millisecond
	startAttempts = 5 // a port that was free a moment ago may be taken
)

var errNotReady = errors.New("not ready")

// Server is one running redis-server. Its methods may be called from several goroutines.
type Server struct {
	Addr string // host:port, the same after Restart
	Dir  string // holds the append-only file

	t    testing.TB
	args []string

	mu      sync.Mutex // guards what follows
	process *process
}

// Start runs redis-server on a free port of 127.0.0.1 until t ends. The extra arguments follow the defaults on
// the command line and so win, e.g. "--appendfsync", "everysec" or "--cluster-enabled", "yes".
func Start(t testing.TB, extra ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		engine.Missing(t, "no redis-server on PATH: install it (apt-get install redis-server)")
	}
	s := &Server{t: t, args: extra, Dir: t.TempDir()}
	t.Cleanup(s.Kill)
	var problem string
	for range startAttempts {
		s.Addr = freeAddr(t)
		if problem = s.launch(); problem == "" {
			return s
		}
	}
	t.Fatalf("redis-server does not start: %s", problem)
	return nil
}

// Client returns a client of this server that is closed when the test ends.
func (s *Server) Client() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Kill ends the process with SIGKILL, as a crash would, and waits until it is gone. Killing twice is not an error.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	s.process.kill()
	s.process = nil
}

// Restart kills the process if it runs, starts it again on the same port and data, and returns when it has
// loaded its append-only file.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if problem := s.launch(); problem != "" {
		s.t.Fatalf("redis-server does not start again: %s", problem)
	}
}

// launch starts the process and waits for PONG; it returns what went wrong, or "".
func (s *Server) launch() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	host, port, _ := net.SplitHostPort(s.Addr)
	args := append([]string{"--bind", host, "--port", port, "--dir", s.Dir, "--save", "", "--appendonly", "yes",
		"--appendfsync", "always", "--maxmemory-policy", "noeviction", "--daemonize", "no"}, s.args...)
	output := &bytes.Buffer{}
	cmd := exec.CommandContext(context.Background(), "redis-server", args...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = dieWithParent()
	running, err := start(cmd)
	if err != nil {
		return err.Error()
	}
	if err := awaitReady(s.Addr, cmd.Process.Pid); err != nil {
		running.kill()
		return err.Error() + "\n" + output.String()
	}
	s.process = running
	return ""
}

// awaitReady polls until the server answers, and makes sure that it is process pid and not a neighbour that took
// the port first.
func awaitReady(addr string, pid int) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		owner, err := processID(ctx, addr)
		switch {
		case err == nil && owner == pid:
			return nil
		case err == nil:
			return fmt.Errorf("the port belongs to process %d", owner)
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

// processID asks for INFO without a client, which would log every attempt. While the append-only file is loaded
// the answer is an error, as for every other command.
func processID(ctx context.Context, addr string) (int, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, err
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(startTimeout))
	if _, err := connection.Write([]byte("PING\r\nINFO server\r\n")); err != nil {
		return 0, err
	}
	answer := bufio.NewReader(connection)
	if pong, err := answer.ReadString('\n'); err != nil || pong != "+PONG\r\n" {
		return 0, fmt.Errorf("redis answers %q: %w", pong, errors.Join(err, errNotReady))
	}
	for {
		line, err := answer.ReadString('\n')
		if err != nil {
			return 0, err
		}
		if id, found := strings.CutPrefix(line, "process_id:"); found {
			return strconv.Atoi(strings.TrimSpace(id))
		}
	}
}

func freeAddr(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(freeport.One(t)))
}
