package mysqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

func lockOf(purpose string) mysqldb.Lock {
	return mysqldb.Lock{Service: "test", Purpose: purpose}
}

func nothing(context.Context) error { return nil }

// leads reports whether l leads, by letting it try.
func leads(t *testing.T, l *mysqldb.Leader) bool {
	t.Helper()
	worked := false
	led, err := l.Run(t.Context(), func(context.Context) error { worked = true; return nil })
	if err != nil || led != worked {
		t.Fatalf("led %v, worked %v, error %v", led, worked, err)
	}
	return led
}

func newLeader(t *testing.T, db *sql.DB, purpose string) *mysqldb.Leader {
	t.Helper()
	l := mysqldb.NewLeader(db, lockOf(purpose))
	t.Cleanup(func() { l.Close(context.WithoutCancel(t.Context())) })
	return l
}

func TestALeaderLeadsUntilItGoesOrItsConnectionIsLost(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	first, second := newLeader(t, db, "test"), newLeader(t, db, "test")
	for range 3 {
		if !leads(t, first) || leads(t, second) {
			t.Fatal("the first does not keep the lead")
		}
	}
	if !leads(t, newLeader(t, db, "other")) {
		t.Fatal("another purpose has a leader already")
	}
	if first.Close(t.Context()); !leads(t, second) || leads(t, first) {
		t.Fatal("the lead did not pass to the second")
	}
	kill(t, db, holder(t, db, "test"))
	await.True(t, "the first leads once the second's connection is gone", func() bool { return leads(t, first) })
	if leads(t, second) {
		t.Fatal("both lead")
	}
	if first.Close(t.Context()); !leads(t, second) {
		t.Fatal("who lost its connection cannot lead again")
	}
}

func TestLeadLetsGoAfterTheWorkAndGivesTheConnectionBackAsItWas(t *testing.T) {
	t.Parallel()
	db, ctx := mysqltest.New(t), t.Context()
	db.SetMaxOpenConns(1)
	for range 2 {
		if led, err := mysqldb.Lead(ctx, db, lockOf("test"), nothing); !led || err != nil {
			t.Fatalf("led %v, error %v", led, err)
		}
		var wait, write int
		if err := db.QueryRowContext(ctx, "SELECT @@wait_timeout, @@net_write_timeout").Scan(&wait, &write); err != nil {
			t.Fatal(err)
		}
		if wait != 30 || write < 60 {
			t.Fatalf("the pool has a session that ends after %d s (%d s while it writes)", wait, write)
		}
	}
}

func TestWorkIsStoppedWhenTheLockIsGone(t *testing.T) {
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	leader := newLeader(t, mysqltest.Via(t, dsn, mysqltest.Address(t, dsn), 2*time.Second), "test")
	led, err := leader.Run(t.Context(), func(ctx context.Context) error {
		kill(t, db, holder(t, db, "test"))
		<-ctx.Done() // until the leader asks the next time
		doing := leader.Do(context.WithoutCancel(ctx), func(context.Context, *sql.Conn) error {
			t.Error("a statement of a leader that lost its lock")
			return nil
		})
		if !errors.Is(doing, mysqldb.ErrLeadershipLost) {
			t.Errorf("a statement was answered with %v", doing)
		}
		return ctx.Err()
	})
	if !led || !errors.Is(err, mysqldb.ErrLeadershipLost) {
		t.Fatalf("led %v, error %v", led, err)
	}
}

func TestALeaderThatIsIdleKeepsItsSession(t *testing.T) {
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	leader := newLeader(t, mysqltest.Via(t, dsn, mysqltest.Address(t, dsn), 3*time.Second), "test")
	if !leads(t, leader) {
		t.Fatal("no one leads")
	}
	before := holder(t, db, "test")
	exec(t, db, "DO SLEEP(7)") // more than twice as long as the server keeps a session that says nothing
	if !leads(t, leader) || holder(t, db, "test") != before {
		t.Fatal("the leader lost its connection while nothing was to do")
	}
}

// TestAnotherLeadsWhenTheLeadersNodeVanishes prints what the replicas see. With LAB_LONG_TESTS the times are those of the
// services.
func TestAnotherLeadsWhenTheLeadersNodeVanishes(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*netfault.Link){
		"silent": (*netfault.Link).Silence, "answers are lost": (*netfault.Link).SilenceAnswers,
		"requests are lost": (*netfault.Link).SilenceRequests, "cut": (*netfault.Link).Cut,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, dsn := mysqltest.Open(t)
			node := netfault.New(t, mysqltest.Address(t, dsn))
			first := newLeader(t, mysqltest.Via(t, dsn, node.Addr(), sessionTimeout()), "test")
			second := newLeader(t, db, "test")
			started, stopped := make(chan struct{}), make(chan time.Time, 1)
			go func() {
				_, _ = first.Run(t.Context(), func(ctx context.Context) error {
					close(started)
					<-ctx.Done()
					stopped <- time.Now()
					return ctx.Err()
				})
			}()
			<-started
			fault(node)
			begin := time.Now()
			await.True(t, "the other replica leads", func() bool { return leads(t, second) })
			leading := time.Since(begin)
			ended := (<-stopped).Sub(begin)
			t.Logf("%-18s the work was stopped after %4.1f s, another led after %4.1f s", name, ended.Seconds(), leading.Seconds())
		})
	}
}

// sessionTimeout is short, or what the services have.
func sessionTimeout() time.Duration {
	if long() {
		return 0
	}
	return 4 * time.Second
}

// holder returns the connection that holds the lock of purpose.
func holder(t *testing.T, db *sql.DB, purpose string) (id int64) {
	t.Helper()
	const query = "SELECT IS_USED_LOCK(CONCAT(?, '@', DATABASE()))"
	if err := db.QueryRowContext(t.Context(), query, lockOf(purpose).String()).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

func kill(t *testing.T, db *sql.DB, id int64) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "KILL CONNECTION ?", id); err != nil {
		t.Fatal(err)
	}
}

func long() bool { return os.Getenv("LAB_LONG_TESTS") != "" }
