package e2e

import (
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

// announceWithin is the promised maximum time until a critical result is announced after a node has vanished.
const announceWithin = time.Minute

// TestACriticalResultIsAnnouncedAlthoughTheLeadersNodeVanished runs two replicas of every service that handles a
// critical result. The leaders lose their database silently, as when a node loses power. The result arrives through the
// other replicas and must be announced in time.
func TestACriticalResultIsAnnouncedAlthoughTheLeadersNodeVanished(t *testing.T) {
	const bill = 979_800
	ways := map[string]string{"rerun": "RERUN", "callout": "CALLOUT", "notifications": "NOTIFICATIONS"}
	node := netfault.New(t, mysqlAddress("rerun", "RERUN"))
	for service, prefix := range ways { // the vanishing replica first, so that it becomes leader
		if err := stack.Stop(service); err != nil {
			t.Fatal(err)
		}
		leader := startReplica(t, service, prefix, map[string]string{
			prefix + "_DB_HOST": "127.0.0.1", prefix + "_DB_PORT": fmt.Sprint(node.Port()),
		})
		await.True(t, "the relay of "+service+" leads", func() bool { return relayLeader(t, service) != "" })
		await.True(t, "the vanishing replica of "+service, leader.ready)
		startReady(t, service, nil)
	}
	leaders := map[string]string{}
	for service := range ways {
		leaders[service] = relayLeader(t, service)
	}

	node.Silence()
	vanished := time.Now()
	since := func() string { return fmt.Sprintf("%5.1f s", time.Since(vanished).Seconds()) }
	t.Log(since(), " the node has vanished")
	criticalFromAnInstrument(t, bill)
	t.Log(since(), " a critical result was confirmed through another replica")
	announced := false
	await.True(t, "every relay has another leader, and the result is announced", func() bool {
		for service, previous := range leaders {
			if now := relayLeader(t, service); now != "" && now != previous {
				t.Log(since(), " another replica leads the relay of", service)
				delete(leaders, service)
			}
		}
		if first, _ := noticesOf(t, bill); first > 0 && !announced {
			announced = true
			t.Log(since(), " the critical result is announced")
			if took := time.Since(vanished); took > announceWithin {
				t.Errorf("announced after %v", took)
			}
		}
		return announced && len(leaders) == 0
	})

	node.Restore() // the node returns; delayed writes must not announce anything twice
	for service := range ways {
		awaitEmptyOutbox(t, "outbox_"+service)
	}
	if first, _ := noticesOf(t, bill); first != 1 {
		t.Errorf("announced %d times", first)
	}
}

// mysqlAddress returns the address of a service's database.
func mysqlAddress(service, prefix string) string {
	own := stack.Endpoints.Environ[service]
	return net.JoinHostPort(own[prefix+"_DB_HOST"], own[prefix+"_DB_PORT"])
}

// startReplica starts another replica of a service on ports of its own without waiting for it.
func startReplica(t *testing.T, service, prefix string, change map[string]string) *program {
	t.Helper()
	settings := map[string]string{prefix + "_GRPC_PORT": freePort(t), prefix + "_ADMIN_PORT": freePort(t)}
	for key, value := range change {
		settings[key] = value
	}
	return startProgram(t, service, prefix, settings)
}

// relayLeader returns the connection that leads the relay of a service, or "".
func relayLeader(t *testing.T, service string) string {
	t.Helper()
	var id sql.NullString
	queryRow(t, "SELECT IS_USED_LOCK(CONCAT('lab."+service+".relay@', DATABASE()))").scan(&id)
	return strings.TrimSpace(id.String)
}
