package mysql_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

func TestALeaderLeadsUntilItGoesOrItsConnectionIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := mysql.NewLeader(b.db, "test"), mysql.NewLeader(b.db, "test")
	t.Cleanup(func() { _ = second.Close(t.Context()) })
	runs := func(l *mysql.Leader) bool {
		t.Helper()
		worked := false
		led, err := l.Run(t.Context(), func(context.Context) error { worked = true; return nil })
		if err != nil || led != worked {
			t.Fatalf("led %v, worked %v, %v", led, worked, err)
		}
		return led
	}
	for range 3 {
		if !runs(first) || runs(second) {
			t.Fatal("the first does not keep the lead")
		}
	}
	if err := first.Close(t.Context()); err != nil || !runs(second) || runs(first) {
		t.Fatal("the lead did not pass to the second", err)
	}
	b.exec(t, fmt.Sprintf("KILL %d", lockHolder(t, b)))
	await.True(t, "the first leads once the second's connection is gone", func() bool { return runs(first) })
	if runs(second) {
		t.Fatal("both lead")
	}
	if err := first.Close(t.Context()); err != nil || !runs(second) {
		t.Fatal("who lost its connection cannot lead again", err)
	}
}

// lockHolder returns the connection that holds the lock.
func lockHolder(t *testing.T, b *bench) (id int64) {
	t.Helper()
	name, err := mysqldb.LockName(t.Context(), b.db, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.db.QueryRowContext(t.Context(), "SELECT IS_USED_LOCK(?)", name).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}
