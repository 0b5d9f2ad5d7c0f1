// Package crashdb makes a process crash at the database driver: before its nth statement, or between a commit and its
// response. What a use case leaves behind is then shown for every point at which its process can die, whatever its
// store looks like.
//
// Statements are counted where they leave the process: exec, query, begin and commit. A process that crashed has no
// connections and gets no new ones, so its server rolls back what was not committed.
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

// ErrCrashed is the error of every statement of a process that crashed.
var ErrCrashed = errors.New("the process crashed")

// Crash is what happens to a process.
type Crash struct {
	// Statement is the number of the statement that it happens at, from 1.
	Statement int
	// AnswerLost runs the statement, which has to be a commit or an exec outside a transaction. Its connection ends
	// before the response, and the process lives. Otherwise the process dies before the statement.
	AnswerLost bool
	// WritesOnly counts execs and commits only. Between two of them a process leaves the same behind, so long use cases
	// need not die before each query too.
	WritesOnly bool
	// Text is the statement's: set when it happened.
	Text string

	kind kind
}

// kind is what a statement does to the database.
type kind int

const (
	reads   kind = iota // nothing: a query or a begin
	writes              // an exec that a commit follows
	commits             // a commit, or an exec outside a transaction: its effects stay
)

// String describes the crash in failure messages.
func (c Crash) String() string {
	what := "died before"
	if c.AnswerLost {
		what = "lost the response to"
	}
	return fmt.Sprintf("%s statement %d, %s", what, c.Statement, c.Text)
}

// Process is a program with a pool of connections.
type Process struct {
	DB *sql.DB // sessions like those of the services

	mu       sync.Mutex
	crash    Crash      // guarded by mu
	count    int        // guarded by mu; statements so far
	happened bool       // guarded by mu
	conns    []net.Conn // guarded by mu
}

// Start returns a process on the database of dsn to which crash happens. The pool is closed when t ends.
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

// Crashed returns the crash with the text of its statement, and whether it happened.
func (p *Process) Crashed() (Crash, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crash, p.happened
}

// dial remembers the connection: a crash closes it as the operating system would.
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

// step counts a statement and kills the process if it dies here. It reports whether the response gets lost.
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
