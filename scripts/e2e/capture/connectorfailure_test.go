package capture

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cdc/connectors"
)

// The pipeline loses its position in five ways, and must recover without an operator: the binary log is purged while
// the connectors are stopped, their offsets are removed, records of every topic are deleted before they are read, the
// offsets of the consumer group are moved, and Kafka Connect forgets its connectors and their offsets. In each gap a
// patient is registered, and one is deleted.
func TestALostPlaceMendsItself(t *testing.T) {
	db := database(t)
	cdc := &consumer{name: "cdc", http: platform.Endpoints.CDC}
	lettersBefore := len(readTopic(t, "cdc.connector-dlq"))
	await.Nil(t, "both connectors being up", func() error { return connectorsUp(cdc, "1 1") })
	must := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	purgeLog := "RESET MASTER"
	if !mysqltest.IsMariaDB(t, db) {
		purgeLog = "RESET BINARY LOGS AND GTIDS"
	}
	const moved = "the offsets of the consumer group are moved"
	for n, loss := range []struct {
		what  string
		begin func() // stops all reading
		lose  func()
	}{
		{"the binary log is purged", func() {
			operate(t, "connectors", "stop")
			await.Nil(t, "stopped connectors", func() error { return connectorsUp(cdc, "0 0") })
			rest(5 * time.Second) // connectors that an operator stopped must not be restarted
			if err := connectorsUp(cdc, "0 0"); err != nil {
				t.Error(err)
			}
		}, func() {
			must(purgeLog)
			must("UPDATE labs SET id = id") // a new log: the connectors need a transaction to follow it
			operate(t, "connectors", "resume")
		}},
		{"offsets are removed through Kafka Connect's own interface", func() {
			operate(t, "connectors", "stop")
			await.Nil(t, "stopped connectors", func() error { return connectorsUp(cdc, "0 0") })
			rest(12 * time.Second) // the service compares counts every ten seconds, which reveals missing records
		}, func() {
			for _, name := range connectors.Names() {
				if _, err := fetch(http.MethodDelete, platform.Endpoints.Connector+"/connectors/"+name+"/offsets", ""); err != nil {
					t.Fatal(err)
				}
			}
			operate(t, "connectors", "resume")
		}},
		{"records are deleted before they are read", func() {
			if err := platform.Stop("cdc"); err != nil {
				t.Fatal(err)
			}
		}, func() {
			rest(3 * time.Second) // the connectors write the gap into the topics
			deleteRecords(t)
			if err := platform.Start("cdc", nil); err != nil {
				t.Fatal(err)
			}
		}},
		{moved, func() {
			if err := platform.Stop("cdc"); err != nil {
				t.Fatal(err)
			}
		}, func() {
			rest(3 * time.Second) // the connectors write the gap into the topics
			moveToTheEnd(t)
			if err := platform.Start("cdc", nil); err != nil {
				t.Fatal(err)
			}
		}},
		{"the runtime forgets its connectors", func() {
			operate(t, "connectors", "stop")
			await.Nil(t, "stopped connectors", func() error { return connectorsUp(cdc, "0 0") })
		}, func() {
			for _, name := range connectors.Names() {
				for _, path := range []string{"/offsets", ""} {
					if _, err := fetch(http.MethodDelete, platform.Endpoints.Connector+"/connectors/"+name+path, ""); err != nil && !strings.Contains(err.Error(), "204") {
						t.Fatal(err)
					}
				}
			}
		}},
	} {
		deleted, registered := 920_100+2*n, 920_101+2*n
		must("INSERT INTO userDetails (id, labId_id, fullName) VALUES (?, 12, 'Goes In The Gap')", deleted)
		await.Nil(t, "the patient before the gap", func() error { return shown(deleted, "Goes In The Gap") })
		loss.begin()
		must("DELETE FROM userDetails WHERE id = ?", deleted)
		must("INSERT INTO userDetails (id, labId_id, fullName) VALUES (?, 12, 'Comes In The Gap')", registered)
		loss.lose()
		begin := time.Now()
		await.Nil(t, "the patient of the gap", func() error { return shown(registered, "Comes In The Gap") })
		found := time.Since(begin)
		await.Nil(t, "the end of the one who was deleted", func() error { return shown(deleted, `"is_deleted":true`) })
		gone := time.Since(begin)
		await.Nil(t, "both connectors being up", func() error { return connectorsUp(cdc, "1 1") })
		converge(t, db)
		if lost, err := cdc.metrics("cdc_positions_lost_total"); loss.what == moved && lost[`reader="cdc-unified"`] == 0 {
			t.Errorf("%s, and it was not noticed: %v, %v", loss.what, lost, err)
		}
		t.Logf("%-42s the registered found after %4.1f s, the deleted gone after %4.1f s, 0 differences after %4.1f s",
			loss.what, found.Seconds(), gone.Seconds(), time.Since(begin).Seconds())
	}
	if n := len(readTopic(t, "cdc.connector-dlq")) - lettersBefore; n > 4 {
		t.Errorf("%d letters about two failed tasks", n)
	}
}

func connectorsUp(cdc *consumer, want string) error {
	values, err := cdc.metrics("cdc_connector_up")
	if got := fmt.Sprint(values[`connector="source-existing"`], values[`connector="source-projection"`]); err != nil || got != want {
		return fmt.Errorf("up %s, error %w", got, err)
	}
	return nil
}

// operate runs a verb of cdc that must succeed.
func operate(t *testing.T, args ...string) {
	t.Helper()
	out, err := verb(t, args...)
	t.Logf("cdc %s\n%s", strings.Join(args, " "), out)
	if err != nil {
		t.Fatal(err)
	}
}

// shown reads a patient of laboratory 12 directly from the index and compares the name.
func shown(id int, want string) error {
	text, err := fetch(http.MethodGet, fmt.Sprintf("%s/user_details/_doc/%d?routing=12", platform.Endpoints.Elasticsearch, id), "")
	if err == nil && !strings.Contains(string(text), want) {
		err = fmt.Errorf("the document says %s", text)
	}
	return err
}

// deleteRecords deletes all records of the source topics.
func deleteRecords(t *testing.T) {
	t.Helper()
	client := kafka(t)
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	for topic, ends := range endsOf(t, client) {
		if err := admin.DeleteRecords(topic, ends); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheDatabasePasswordIsNotInTheConnectorsConfigurations reads the configurations that Kafka Connect returns to all
// its clients. None may contain the password.
func TestTheDatabasePasswordIsNotInTheConnectorsConfigurations(t *testing.T) {
	for _, name := range connectors.Names() {
		text, err := fetch(http.MethodGet, platform.Endpoints.Connector+"/connectors/"+name+"/config", "")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"database.password":"${file:`) {
			t.Errorf("%s has a password of its own", name)
		}
	}
}
