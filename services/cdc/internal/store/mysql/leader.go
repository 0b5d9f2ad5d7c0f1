package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// Leader is one process's claim to do some work alone. Once it leads it goes on leading, with what it remembers, until
// it is closed, dies or loses its connection to the database. Safe for concurrent use.
type Leader struct {
	db      *sql.DB
	purpose string

	mu   sync.Mutex
	conn *sql.Conn // guarded by mu; holds the lock called name, nil while this process does not lead
	name string    // guarded by mu
}

// NewLeader returns a Leader that does not lead yet.
func NewLeader(db *sql.DB, purpose string) *Leader { return &Leader{db: db, purpose: purpose} }

// Run runs work if this process leads, or can begin to. It returns false without an error when another one leads.
func (l *Leader) Run(ctx context.Context, work func(context.Context) error) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds(ctx) {
		return true, work(ctx)
	}
	if err := l.claim(ctx); err != nil || l.conn == nil {
		return false, err
	}
	return true, work(ctx)
}

// holds asks the server whether the lock is this connection's still; a connection that does not know is given up, and
// the lock with it.
func (l *Leader) holds(ctx context.Context) bool {
	if l.conn == nil {
		return false
	}
	var own sql.NullBool
	err := l.conn.QueryRowContext(ctx, "SELECT IS_USED_LOCK(?) = CONNECTION_ID()", l.name).Scan(&own)
	if err == nil && own.Bool {
		return true
	}
	l.drop()
	return false
}

// claim takes the lock if nobody has it.
func (l *Leader) claim(ctx context.Context) error {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("lead %s: %w", l.purpose, err)
	}
	name, err := mysqldb.LockName(ctx, conn, l.purpose)
	var got sql.NullInt64
	if err == nil {
		err = conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", name).Scan(&got)
	}
	if err == nil && got.Int64 == 1 {
		l.conn, l.name = conn, name
		return nil
	}
	_ = conn.Close() // gives it back to the pool
	if err != nil {
		return fmt.Errorf("lead %s: %w", l.purpose, err)
	}
	return nil
}

// drop ends the connection itself: it may hold a lock that nobody could release.
func (l *Leader) drop() {
	_ = l.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = l.conn.Close()
	l.conn = nil
}

// Close lets another process lead.
func (l *Leader) Close(ctx context.Context) error {
	const enough = 2 * time.Second
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enough)
	defer cancel()
	_, _ = l.conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", l.name) // if that fails, the end of the connection does it
	l.drop()
	return nil
}
