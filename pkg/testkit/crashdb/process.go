// Package crashdb makes a process crash at the database driver: before its nth statement, or between a commit and its
// response. A test can thus check the state after a crash at every point of a use case, independently of its store.
//
// Statements are counted where they leave the process: exec, query, begin and commit. A crashed process loses its
// connections and gets no new ones, so the server rolls back uncommitted changes.
package crashdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// ErrCrashed is the error of every statement of a crashed process.
var ErrCrashed = errors.New("the process crashed")

// Crash describes when and how a process crashes.
type Crash struct {
	// Statement is the number of the statement at which the process crashes, from 1.
	Statement int
	// AnswerLost executes the statement, which must be a commit or an exec outside a transaction, and closes its
	// connection before the response; the process lives on. Otherwise the process dies before the statement.
	AnswerLost bool
	// WritesOnly counts execs and commits only. A crash between two of them leaves the same state, so long use cases need
	// not crash before each query too.
	WritesOnly bool
	// Text is the text of the statement; set when the crash has happened.
	Text string

	kind kind
}

// kind is the effect of a statement on the database.
type kind int

const (
	reads   kind = iota // none: a query or a begin
	writes              // an exec in a transaction: permanent after its commit
	commits             // a commit, or an exec outside a transaction: permanent
)

// String describes the crash in failure messages.
func (c Crash) String() string {
	what := "died before"
	if c.AnswerLost {
		what = "lost the response to"
	}
	return fmt.Sprintf("%s statement %d, %s", what, c.Statement, c.Text)
}

// Process is a simulated process with a connection pool.
type Process struct {
	DB *sql.DB // sessions have the services' settings

	mu       sync.Mutex
	crash    Crash      // guarded by mu
	count    int        // guarded by mu; statements so far
	happened bool       // guarded by mu
	conns    []net.Conn // guarded by mu
}

// Start returns a process that uses the database of dsn and crashes as described by crash. The pool is closed when t
// ends.
func Start(t testing.TB, dsn string, crash Crash) *Process {
	t.Helper()
	p := &Process{crash: crash}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = p.dial
	inner, err := mysqldb.Connector(config)
	if err != nil {
		t.Fatal(err)
	}
	p.DB = sql.OpenDB(connector{inner, p})
	t.Cleanup(func() { _ = p.DB.Close() })
	return p
}

// Crashed returns the crash with the text of its statement, and whether it has happened.
func (p *Process) Crashed() (Crash, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crash, p.happened
}

// dial registers the connection, because a crash closes it, as the operating system would.
func (p *Process) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, conn)
	return conn, nil
}

func (p *Process) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.happened && !p.crash.AnswerLost {
		return ErrCrashed
	}
	return nil
}

// step counts a statement and kills the process if it must die here. lose reports whether the response is lost.
func (p *Process) step(text string, k kind) (lose bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.happened && !p.crash.AnswerLost {
		return false, ErrCrashed
	}
	if p.crash.WritesOnly && k == reads {
		return false, nil
	}
	if p.count++; p.count != p.crash.Statement {
		return false, nil
	}
	p.crash.Text, p.crash.kind, p.happened = strings.Join(strings.Fields(text), " "), k, true
	if p.crash.AnswerLost {
		return k == commits, nil
	}
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	return false, ErrCrashed
}
