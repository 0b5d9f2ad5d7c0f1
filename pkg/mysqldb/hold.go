package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// hold is a lock of the server and the connection that it ends with.
type hold struct {
	conn    *sql.Conn
	name    string          // of the lock
	before  limits          // of the session, while it held no lock
	timeout time.Duration   // after which the server frees the lock of a connection that says nothing
	turn    chan struct{}   // full while conn is used
	lost    context.Context // ends when someone else may have the lock
	lose    context.CancelCauseFunc
	watched chan struct{} // closed when watch has ended
}

func newHold(conn *sql.Conn, name string, before limits) *hold {
	h := &hold{
		conn: conn, name: name, before: before, timeout: time.Duration(before.leading().wait) * time.Second,
		turn: make(chan struct{}, 1), watched: make(chan struct{}),
	}
	h.lost, h.lose = context.WithCancelCause(context.Background())
	go h.watch()
	return h
}

// run runs work until the lock may be lost.
func (h *hold) run(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.lost, func() { cancel(context.Cause(h.lost)) })()
	err := work(ctx)
	if err != nil && h.lost.Err() != nil {
		return errors.Join(context.Cause(h.lost), err)
	}
	return err
}

// watch keeps the connection from being ended by the server, and the work from outliving the connection.
func (h *hold) watch() {
	defer close(h.watched)
	ticker := time.NewTicker(h.timeout / 10)
	defer ticker.Stop()
	for {
		select {
		case <-h.lost.Done():
			return
		case <-ticker.C:
		}
		if err := h.ask(); err != nil {
			h.lose(fmt.Errorf("%w: %w", ErrLeadershipLost, err))
			return
		}
	}
}

var errNotOurs = errors.New("the connection does not hold the lock any more")

// ask asks the server whether the lock is this connection's still.
func (h *hold) ask() error {
	return h.do(context.Background(), func(ctx context.Context, conn *sql.Conn) error {
		var own sql.NullBool
		err := conn.QueryRowContext(ctx, "SELECT IS_USED_LOCK(?) = CONNECTION_ID()", h.name).Scan(&own)
		if err == nil && !own.Bool {
			err = errNotOurs
		}
		return err
	})
}

// do has the connection for itself. Waiting for its turn counts: who cannot ask for so long must not continue.
func (h *hold) do(ctx context.Context, statements func(context.Context, *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout/2)
	defer cancel()
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.turn }()
	if h.lost.Err() != nil {
		return context.Cause(h.lost)
	}
	return statements(ctx, h.conn)
}

// release gives the lock back, and the connection to its pool.
func (h *hold) release(ctx context.Context) {
	const enough = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, enough)
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

// drop ends the connection, and with it the lock.
func (h *hold) drop() {
	h.stop()
	end(h.conn)
}

func (h *hold) stop() {
	h.lose(ErrLeadershipLost)
	<-h.watched
}

// end closes a connection instead of giving it back to its pool.
func end(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// limits are how long the server waits for the other side of a session, in seconds.
type limits struct{ wait, write int }

// leading are the limits of a leader's session: leaderTimeout, or less when sessions end sooner anyway.
func (l limits) leading() limits {
	seconds := min(l.wait, int(leaderTimeout.Seconds()))
	return limits{seconds, seconds}
}

func (l limits) set(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SET SESSION wait_timeout = ?, net_write_timeout = ?", l.wait, l.write)
	return err
}

// shortenSession gives the session the limits of a leader's and returns those that it had.
func shortenSession(ctx context.Context, conn *sql.Conn) (before limits, err error) {
	err = conn.QueryRowContext(ctx, "SELECT @@wait_timeout, @@net_write_timeout").Scan(&before.wait, &before.write)
	if err != nil {
		return limits{}, err
	}
	return before, before.leading().set(ctx, conn)
}
