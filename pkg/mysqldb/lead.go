package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// Lead runs work while this process holds the lock of purpose, which is private to the present database and ends with
// its connection. It returns false without an error when another process leads. work gets the connection that holds the
// lock: what it writes through it cannot outlive the lock.
func Lead(ctx context.Context, db *sql.DB, purpose string, work func(context.Context, *sql.Conn) error) (bool, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, fmt.Errorf("lead %s: %w", purpose, err)
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	name, err := LockName(ctx, conn, purpose)
	if err != nil {
		return false, err
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", name).Scan(&got); err != nil {
		return false, fmt.Errorf("lead %s: %w", purpose, err)
	}
	if got.Int64 != 1 {
		return false, nil
	}
	defer releaseLeadership(ctx, conn, name)
	return true, work(ctx, conn)
}

// releaseLeadership gives the lock back. A connection on which that fails is dropped, and the lock with it.
func releaseLeadership(ctx context.Context, conn *sql.Conn, name string) {
	const enough = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enough)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}
