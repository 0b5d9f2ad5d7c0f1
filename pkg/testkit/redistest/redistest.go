// Package redistest starts a private redis-server process per test: append-only file with fsync at every write, no
// eviction, no snapshots, data in the test's temporary directory. Kill and Restart make crash tests possible.
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
	startAttempts = 5 // another process may take a free port first
)

var errNotReady = errors.New("not ready")

// Server is a running redis-server. It is safe for concurrent use.
type Server struct {
	Addr string // host:port; unchanged by Restart
	Dir  string // contains the append-only file

	t    testing.TB
	args []string

	mu      sync.Mutex // guards the fields below
	process *process
}

// Start runs redis-server on a free port of 127.0.0.1 until t ends. The extra arguments follow the defaults on the
// command line and override them, such as "--appendfsync", "everysec" or "--cluster-enabled", "yes".
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

// Kill ends the process with SIGKILL, as in a crash, and waits for its end. Further calls have no effect.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	s.process.kill()
	s.process = nil
}

// Restart kills the process if it runs, starts it again with the same port and data, and returns once it has loaded its
// append-only file.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if problem := s.launch(); problem != "" {
		s.t.Fatalf("redis-server does not start again: %s", problem)
	}
}

// launch starts the process and waits until it responds. It returns a description of the problem, or an empty string.
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

// awaitReady polls until the server responds, and checks that the responding process is pid and not another one that
// took the port first.
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
			return fmt.Errorf("the port is used by process %d", owner)
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}

// processID sends INFO over a plain connection, because a client would log every attempt. While the append-only file is
// being loaded, the reply is an error.
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
	reply := bufio.NewReader(connection)
	if pong, err := reply.ReadString('\n'); err != nil || pong != "+PONG\r\n" {
		return 0, fmt.Errorf("redis replied %q: %w", pong, errors.Join(err, errNotReady))
	}
	for {
		line, err := reply.ReadString('\n')
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
