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

// leads reports whether l leads or can start to.
func leads(t *testing.T, l *mysqldb.Leader) bool {
	t.Helper()
	worked := false
	led, err := l.Run(t.Context(), func(context.Context) error { worked = true; return nil })
	if err != nil || led != worked {
		t.Fatalf("Run = %v, work executed = %v, error %v, want both the same", led, worked, err)
	}
	return led
}

func newLeader(t *testing.T, db *sql.DB, purpose string) *mysqldb.Leader {
	t.Helper()
	l := mysqldb.NewLeader(db, lockOf(purpose))
	t.Cleanup(func() { l.Close(context.WithoutCancel(t.Context())) })
	return l
}

func TestLeaderLeadsUntilItClosesOrLosesItsConnection(t *testing.T) {
	t.Parallel()
	db := mysqltest.New(t)
	first, second := newLeader(t, db, "test"), newLeader(t, db, "test")
	for range 3 {
		if !leads(t, first) || leads(t, second) {
			t.Fatal("leadership moved from the first leader, want it kept")
		}
	}
	if !leads(t, newLeader(t, db, "other")) {
		t.Fatal("leader of another purpose does not lead, want it to")
	}
	if first.Close(t.Context()); !leads(t, second) || leads(t, first) {
		t.Fatal("leadership did not move to the second leader after Close")
	}
	kill(t, db, holder(t, db, "test"))
	await.True(t, "the first leads after the second lost its connection", func() bool { return leads(t, first) })
	if leads(t, second) {
		t.Fatal("both leaders lead, want the first only")
	}
	if first.Close(t.Context()); !leads(t, second) {
		t.Fatal("leader that lost its connection does not lead again, want it to")
	}
}

func TestLeadReleasesTheLockAndRestoresTheSession(t *testing.T) {
	t.Parallel()
	db, ctx := mysqltest.New(t), t.Context()
	db.SetMaxOpenConns(1)
	for range 2 {
		if led, err := mysqldb.Lead(ctx, db, lockOf("test"), nothing); !led || err != nil {
			t.Fatalf("Lead = %v, error %v, want true, nil", led, err)
		}
		var wait, write int
		if err := db.QueryRowContext(ctx, "SELECT @@wait_timeout, @@net_write_timeout").Scan(&wait, &write); err != nil {
			t.Fatal(err)
		}
		if wait != 30 || write < 60 {
			t.Fatalf("wait_timeout = %d, net_write_timeout = %d, want 30 and at least 60", wait, write)
		}
	}
}

func TestWorkIsStoppedWhenTheLockIsLost(t *testing.T) {
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	leader := newLeader(t, mysqltest.Via(t, dsn, mysqltest.Address(t, dsn), 2*time.Second), "test")
	led, err := leader.Run(t.Context(), func(ctx context.Context) error {
		kill(t, db, holder(t, db, "test"))
		<-ctx.Done() // blocks until the next check of the lock fails
		doErr := leader.Do(context.WithoutCancel(ctx), func(context.Context, *sql.Conn) error {
			t.Error("Do ran a statement after the lock was lost")
			return nil
		})
		if !errors.Is(doErr, mysqldb.ErrLeadershipLost) {
			t.Errorf("Do = %v, want ErrLeadershipLost", doErr)
		}
		return ctx.Err()
	})
	if !led || !errors.Is(err, mysqldb.ErrLeadershipLost) {
		t.Fatalf("Run = %v, error %v, want true, ErrLeadershipLost", led, err)
	}
}

func TestIdleLeaderKeepsItsSession(t *testing.T) {
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	leader := newLeader(t, mysqltest.Via(t, dsn, mysqltest.Address(t, dsn), 3*time.Second), "test")
	if !leads(t, leader) {
		t.Fatal("leader does not lead, want it to")
	}
	before := holder(t, db, "test")
	exec(t, db, "DO SLEEP(7)") // more than twice the time after which the server closes a silent session
	if !leads(t, leader) || holder(t, db, "test") != before {
		t.Fatal("idle leader lost its connection, want it kept")
	}
}

// The test logs the times that the replicas observe. With LAB_LONG_TESTS it uses the services' timeouts.
func TestAnotherProcessLeadsWhenTheLeadersNodeVanishes(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*netfault.Link){
		"silent": (*netfault.Link).Silence, "responses are lost": (*netfault.Link).SilenceResponses,
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
			t.Logf("%-18s work stopped after %4.1f s, another process led after %4.1f s", name, ended.Seconds(), leading.Seconds())
		})
	}
}

// sessionTimeout returns a short timeout, or 0 for the services' own.
func sessionTimeout() time.Duration {
	if long() {
		return 0
	}
	return 4 * time.Second
}

// holder returns the connection that has the lock of purpose.
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
