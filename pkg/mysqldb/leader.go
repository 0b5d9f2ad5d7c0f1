package mysqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// leaderTimeout is how long after its leader's last statement the server gives a lock to someone else: the leader's
// node may have vanished without a farewell. A leader that lives asks after a tenth of it, and stops its work when no
// answer came after another half: before anybody else can lead.
const leaderTimeout = 20 * time.Second

// ErrLeadershipLost says that the work was stopped because another process may lead by now.
var ErrLeadershipLost = errors.New("the leadership was lost")

// Leader is one process's claim to do some work alone. The claim is a lock of the database server, private to the
// present database, that ends with its connection. Safe for concurrent use.
type Leader struct {
	db   *sql.DB
	lock Lock

	mu   sync.Mutex           // locked while work runs
	held atomic.Pointer[hold] // nil while this process does not lead
}

// NewLeader returns a Leader that does not lead yet. The caller closes it.
func NewLeader(db *sql.DB, lock Lock) *Leader { return &Leader{db: db, lock: lock} }

// Lead runs work once while this process leads, and lets go of the leadership. It returns false without an error when
// another process leads.
func Lead(ctx context.Context, db *sql.DB, lock Lock, work func(context.Context) error) (bool, error) {
	leader := NewLeader(db, lock)
	defer leader.Close(ctx)
	return leader.Run(ctx, work)
}

// Run runs work if this process leads, or can begin to, and continues leading afterwards until Close. It returns false
// without an error when another process leads. The context of work ends when the leadership may be lost; an error of
// work then becomes ErrLeadershipLost.
func (l *Leader) Run(ctx context.Context, work func(context.Context) error) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held.Load(); h != nil {
		if h.ask() == nil {
			return true, h.run(ctx, work)
		}
		l.held.Store(nil)
		h.drop()
	}
	h, err := l.claim(ctx)
	if err != nil || h == nil {
		return false, err
	}
	l.held.Store(h)
	return true, h.run(ctx, work)
}

// Do runs one statement or a few on the connection that holds the lock: what they write cannot outlive the leadership.
// It belongs into the work of Run, where several goroutines may call it, and lasts ten seconds at most.
func (l *Leader) Do(ctx context.Context, statements func(context.Context, *sql.Conn) error) error {
	h := l.held.Load()
	if h == nil {
		return ErrLeadershipLost
	}
	return h.do(ctx, statements)
}

// Close lets another process lead. It waits for the work of Run.
func (l *Leader) Close(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held.Swap(nil); h != nil {
		h.release(context.WithoutCancel(ctx))
	}
}

// claim takes the lock if no one has it; it returns nil without an error when someone does.
func (l *Leader) claim(ctx context.Context) (*hold, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("lead %v: %w", l.lock, err)
	}
	name, taken, err := takeLock(ctx, conn, l.lock)
	var before limits
	if err == nil && taken {
		before, err = shortenSession(ctx, conn)
	}
	if err != nil {
		end(conn) // it may hold the lock
		return nil, fmt.Errorf("lead %v: %w", l.lock, err)
	}
	if !taken {
		_ = conn.Close() // gives it back to the pool
		return nil, nil
	}
	return newHold(conn, name, before), nil
}

// takeLock returns the lock's name, and whether conn holds the lock now.
func takeLock(ctx context.Context, conn *sql.Conn, lock Lock) (name string, taken bool, err error) {
	database, err := databaseOf(ctx, conn)
	if err != nil {
		return "", false, err
	}
	name = lock.Name(database)
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", name).Scan(&got); err != nil {
		return "", false, err
	}
	return name, got.Int64 == 1, nil
}
