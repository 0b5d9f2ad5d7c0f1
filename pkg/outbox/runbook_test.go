package outbox_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/labplatform/labplatform/pkg/outbox"
	"github.com/labplatform/labplatform/pkg/testkit/await"
)

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?);\n```")

// statements returns the SQL of a section of the platform's runbook, for a service named test.
func statements(t *testing.T, section string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbooks", "platform.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "## "+section+"\n")
	section, _, _ = strings.Cut(after, "\n## ")
	var all []string
	for _, block := range sqlBlock.FindAllStringSubmatch(section, -1) {
		all = append(all, strings.ReplaceAll(block[1], "SERVICE", "test"))
	}
	if !found || len(all) != 2 {
		t.Fatalf("the section has %d statements, want 2", len(all))
	}
	return all
}

func TestRunbookStatementsFindAndEndTheLeadingRelay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sql := statements(t, "OutboxOld")
	// KILL returns before the server releases the lock, so the relay must poll often.
	often := func(c *outbox.Config) { c.PollInterval = 50 * time.Millisecond }
	leader := func() (id int64) {
		var host string
		var silent int
		if err := b.db.QueryRowContext(context.WithoutCancel(t.Context()), sql[0]).Scan(&id, &host, &silent); err != nil {
			t.Log(err)
		}
		return id
	}
	startRelay(t, b.newRelay(prometheus.NewRegistry(), b.receiver.deliver, often))
	await.True(t, "a relay leads", func() bool { return leader() != 0 })
	before := leader()
	kill := strings.ReplaceAll(sql[1], "ID", strconv.FormatInt(before, 10))
	if _, err := b.db.ExecContext(t.Context(), kill); err != nil {
		t.Fatal(err)
	}
	startRelay(t, b.newRelay(prometheus.NewRegistry(), b.receiver.deliver, often))
	await.True(t, "another connection leads", func() bool { id := leader(); return id != 0 && id != before })
}

func TestRunbookStatementsShowAndReleaseAParkedMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sql := statements(t, "OutboxParked")
	b.receiver.set(map[string]error{"a": outbox.Undeliverable(os.ErrInvalid)})
	b.add("r:1", "a")
	b.runOnce()
	var id, attempts int64
	var kind, reason string
	if err := b.db.QueryRowContext(t.Context(), sql[0]).Scan(&id, &kind, &attempts, &reason); err != nil {
		t.Fatal(err)
	}
	b.receiver.set(nil)
	if _, err := b.db.ExecContext(t.Context(), strings.ReplaceAll(sql[1], "ID", strconv.FormatInt(id, 10))); err != nil {
		t.Fatal(err)
	}
	b.runOnce()
	b.expect("a")
}
