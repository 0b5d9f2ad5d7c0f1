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

// leaderTimeout is the time after the leader's last statement at which the server releases its lock, in case the
// leader's node has vanished without closing its connections. A running leader checks its lock every tenth of this
// time, and stops its work when a check fails or has no result within half of it, which is before another process can
// lead.
const leaderTimeout = 20 * time.Second

// ErrLeadershipLost is returned when the work was stopped because another process may lead.
var ErrLeadershipLost = errors.New("the leadership was lost")

// Leader is a process's candidacy for work that only one process at a time does. The leadership is a lock of the
// database server, specific to the current database, and ends with its connection. It is safe for concurrent use.
type Leader struct {
	db   *sql.DB
	lock Lock

	mu     sync.Mutex                 // locked while work runs
	holder atomic.Pointer[lockHolder] // nil while this process does not lead
}

// NewLeader returns a Leader that does not lead yet. The caller must close it.
func NewLeader(db *sql.DB, lock Lock) *Leader { return &Leader{db: db, lock: lock} }

// Lead runs work once if this process can lead, and then gives up the leadership. It returns false without an error if
// another process leads.
func Lead(ctx context.Context, db *sql.DB, lock Lock, work func(context.Context) error) (bool, error) {
	leader := NewLeader(db, lock)
	defer leader.Close(ctx)
	return leader.Run(ctx, work)
}

// Run runs work if this process leads or can start to, and keeps the leadership until Close. It returns false without
// an error if another process leads. The context of work ends when the leadership may be lost; an error of work then
// matches ErrLeadershipLost.
func (l *Leader) Run(ctx context.Context, work func(context.Context) error) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holder.Load(); h != nil {
		if h.check() == nil {
			return true, h.run(ctx, work)
		}
		l.holder.Store(nil)
		h.drop()
	}
	h, err := l.claim(ctx)
	if err != nil || h == nil {
		return false, err
	}
	l.holder.Store(h)
	return true, h.run(ctx, work)
}

// Do runs a few statements on the connection that has the lock, so that their writes end with the leadership. It must
// be called from the work of Run, where it is safe for concurrent use, and takes at most ten seconds.
func (l *Leader) Do(ctx context.Context, statements func(context.Context, *sql.Conn) error) error {
	h := l.holder.Load()
	if h == nil {
		return ErrLeadershipLost
	}
	return h.do(ctx, statements)
}

// Close gives up the leadership. It waits for the work of Run.
func (l *Leader) Close(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holder.Swap(nil); h != nil {
		h.release(context.WithoutCancel(ctx))
	}
}

// claim takes the lock if it is free; it returns nil without an error if another process has it.
func (l *Leader) claim(ctx context.Context) (*lockHolder, error) {
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
		end(conn) // conn may have the lock
		return nil, fmt.Errorf("lead %v: %w", l.lock, err)
	}
	if !taken {
		_ = conn.Close() // returns it to the pool
		return nil, nil
	}
	return newLockHolder(conn, name, before), nil
}

// takeLock returns the lock's name, and whether conn has the lock now.
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
