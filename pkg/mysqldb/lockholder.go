package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// lockHolder holds a lock of the server and its connection; the lock ends with the connection.
type lockHolder struct {
	conn    *sql.Conn
	name    string          // name of the lock
	before  limits          // limits of the session before it had the lock
	timeout time.Duration   // time after which the server releases the lock of a silent connection
	inUse   chan struct{}   // full while conn is used
	lost    context.Context // ends when another process may have the lock
	lose    context.CancelCauseFunc
	watched chan struct{} // closed when watch has ended
}

func newLockHolder(conn *sql.Conn, name string, before limits) *lockHolder {
	h := &lockHolder{
		conn: conn, name: name, before: before, timeout: time.Duration(before.leading().wait) * time.Second,
		inUse: make(chan struct{}, 1), watched: make(chan struct{}),
	}
	h.lost, h.lose = context.WithCancelCause(context.Background())
	go h.watch()
	return h
}

// run calls work with a context that ends when the lock may be lost.
func (h *lockHolder) run(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.lost, func() { cancel(context.Cause(h.lost)) })()
	err := work(ctx)
	if err != nil && h.lost.Err() != nil {
		return errors.Join(context.Cause(h.lost), err)
	}
	return err
}

// watch checks the lock regularly. This keeps the server from closing the connection, and ends the work soon after the
// lock is lost.
func (h *lockHolder) watch() {
	defer close(h.watched)
	ticker := time.NewTicker(h.timeout / 10)
	defer ticker.Stop()
	for {
		select {
		case <-h.lost.Done():
			return
		case <-ticker.C:
		}
		if err := h.check(); err != nil {
			h.lose(fmt.Errorf("%w: %w", ErrLeadershipLost, err))
			return
		}
	}
}

var errNotOurs = errors.New("the connection no longer has the lock")

// check returns an error unless this connection still has the lock.
func (h *lockHolder) check() error {
	return h.do(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
		var own sql.NullBool
		err := conn.QueryRowContext(ctx, "SELECT IS_USED_LOCK(?) = CONNECTION_ID()", h.name).Scan(&own)
		if err == nil && !own.Bool {
			err = errNotOurs
		}
		return err
	})
}

// do runs statements with exclusive use of the connection. The time limit includes the wait for the connection: a
// process that cannot check its lock for so long must stop its work.
func (h *lockHolder) do(ctx context.Context, statements func(context.Context, *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout/2)
	defer cancel()
	select {
	case h.inUse <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.inUse }()
	if h.lost.Err() != nil {
		return context.Cause(h.lost)
	}
	return statements(ctx, h.conn)
}

// release releases the lock and returns the connection to its pool.
func (h *lockHolder) release(ctx context.Context) {
	const limit = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := h.do(ctx, func(ctx context.Context, conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", h.name); err != nil {
			return err
		}
		return h.before.set(ctx, conn)
	})
	if err != nil {
		h.drop()
		return
	}
	h.stop()
	_ = h.conn.Close()
}

// drop closes the connection, and with it releases the lock.
func (h *lockHolder) drop() {
	h.stop()
	end(h.conn)
}

func (h *lockHolder) stop() {
	h.lose(ErrLeadershipLost)
	<-h.watched
}

// end closes a connection instead of returning it to its pool.
func end(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// limits are the timeouts in seconds after which the server closes a session: silent (wait), or not reading a result
// (write).
type limits struct{ wait, write int }

// leading returns the limits of a leader's session: leaderTimeout, or less if sessions have shorter limits anyway.
func (l limits) leading() limits {
	seconds := min(l.wait, int(leaderTimeout.Seconds()))
	return limits{seconds, seconds}
}

func (l limits) set(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SET SESSION wait_timeout = ?, net_write_timeout = ?", l.wait, l.write)
	return err
}

// shortenSession sets the limits of a leader's session and returns the previous ones.
func shortenSession(ctx context.Context, conn *sql.Conn) (before limits, err error) {
	err = conn.QueryRowContext(ctx, "SELECT @@wait_timeout, @@net_write_timeout").Scan(&before.wait, &before.write)
	if err != nil {
		return limits{}, err
	}
	return before, before.leading().set(ctx, conn)
}
