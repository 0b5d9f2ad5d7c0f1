package mysql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

// interrupter is a driver.Connector. The server kills its connections just before the n-th statement, counting begin
// and commit.
type interrupter struct {
	driver.Connector
	admin *sql.DB
	left  atomic.Int64 // statements left until the kill; negative: no kill
}

func (i *interrupter) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := i.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := c.(driver.QueryerContext).QueryContext(ctx, "SELECT CONNECTION_ID()", nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	id := make([]driver.Value, 1)
	if err := rows.Next(id); err != nil {
		return nil, err
	}
	return &interrupted{Conn: c, i: i, id: fmt.Sprint(id[0])}, nil
}

type interrupted struct {
	driver.Conn
	i  *interrupter
	id string
}

func (c *interrupted) statement(ctx context.Context) {
	if c.i.left.Add(-1) == 0 {
		_, _ = c.i.admin.ExecContext(context.WithoutCancel(ctx), "KILL "+c.id)
	}
}

func (c *interrupted) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.statement(ctx)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *interrupted) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.statement(ctx)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *interrupted) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.statement(ctx)
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	return interruptedTx{tx, c, ctx}, err
}

func (c *interrupted) CheckNamedValue(v *driver.NamedValue) error {
	return c.Conn.(driver.NamedValueChecker).CheckNamedValue(v)
}

func (c *interrupted) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

func (c *interrupted) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }

type interruptedTx struct {
	driver.Tx
	c   *interrupted
	ctx context.Context
}

func (t interruptedTx) Commit() error {
	t.c.statement(t.ctx)
	return t.Tx.Commit()
}

// flaky returns a store whose connections the interrupter kills.
func (b *fixture) flaky(t *testing.T) (*mysql.Store, *interrupter) {
	t.Helper()
	config, err := mysqldriver.ParseDSN(b.dsn)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := mysqldb.Connector(config)
	if err != nil {
		t.Fatal(err)
	}
	i := &interrupter{Connector: inner, admin: b.db}
	i.left.Store(-1)
	db := sql.OpenDB(i)
	t.Cleanup(func() { _ = db.Close() })
	store, _ := b.over(db, phase.Running)
	return store, i
}

// TestAConnectionThatDiesAtAnyStatementLeavesNoTornState kills the connection before each statement in turn. Either
// everything or nothing must be written, and the next attempt must complete it.
func TestAConnectionThatDiesAtAnyStatementLeavesNoTornState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store, interrupter := b.flaky(t)
	ids := []int64{1, 2, 3}
	deaths := 0
	for n := int64(1); ; n++ {
		for _, id := range ids { // every patient must have changed
			b.patient(t, id, 10+n%2)
			b.bill(t, 100*id+n, id, 10+n%2)
			b.bill(t, 100*id+n+50, id, 11-n%2)
		}
		before := b.revisions(t)
		interrupter.left.Store(n)
		_, err := store.Recompute(t.Context(), targets(ids...))
		survived := interrupter.left.Swap(-1) > 0
		if err == nil && survived {
			break
		}
		deaths++
		if err != nil {
			wantRetry(t, err)
		}
		after := b.revisions(t)
		if changed := after != before; changed && (after[0] == before[0] || after[1] == before[1] || after[2] == before[2]) {
			t.Fatalf("death before statement %d: some rows were written: %v, %v", n, before, after)
		}
		if _, err := store.Recompute(t.Context(), targets(ids...)); err != nil {
			t.Fatalf("after the death before statement %d: %v", n, err)
		}
		b.same(t)
	}
	const statements = 10 // begin, stubs, lock, two counts, three sources, write, commit
	if deaths != statements {
		t.Fatalf("%d deaths: a computation of three patients has another number of statements", deaths)
	}
	b.same(t)
}

func (b *fixture) revisions(t *testing.T) (revs [3]int64) {
	t.Helper()
	for i := range revs {
		err := b.db.QueryRowContext(t.Context(), "SELECT COALESCE(MAX(rev), 0) FROM user_meta WHERE user_id = ?", i+1).Scan(&revs[i])
		if err != nil {
			t.Fatal(err)
		}
	}
	return revs
}
