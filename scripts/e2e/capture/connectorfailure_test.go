package capture

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cdc/connectors"
)

// TestAFailedTaskIsOneLetterAndLostOffsetsAreMendedByTheRunbook takes the binary log away from under both connectors, the failure
// that no restart heals, and follows the runbook's page for it.
func TestAFailedTaskIsOneLetterAndLostOffsetsAreMendedByTheRunbook(t *testing.T) {
	db := database(t)
	cdc := &consumer{name: "cdc", http: platform.Endpoints.CDC}
	up := func() string {
		values, err := cdc.metrics("cdc_connector_up")
		return fmt.Sprint(values[`connector="source-existing"`], values[`connector="source-projection"`], err)
	}
	await.Nil(t, "both connectors being up", func() error {
		if got := up(); got != "1 1 <nil>" {
			return fmt.Errorf("up %s", got)
		}
		return nil
	})
	lettersBefore := len(readTopic(t, "cdc.connector-dlq"))
	must := func(args ...string) {
		t.Helper()
		out, err := verb(t, args...)
		t.Logf("cdc %s\n%s", strings.Join(args, " "), out)
		if err != nil {
			status, _ := fetch(http.MethodGet, platform.Endpoints.Connector+"/connectors?expand=status", "")
			t.Fatalf("%v\n%s", err, status)
		}
	}
	must("connectors", "stop")
	// Stopped by an operator is not failed: nobody starts them again.
	rest(5 * time.Second)
	if got := up(); got != "0 0 <nil>" {
		t.Errorf("stopped connectors: up %s", got)
	}
	if _, err := db.Exec("INSERT INTO userDetails (id, labId_id, fullName) VALUES (920001, 12, 'Written In The Gap')"); err != nil {
		t.Fatal(err)
	}
	reset := "RESET MASTER"
	if !mysqltest.IsMariaDB(t, db) {
		reset = "RESET BINARY LOGS AND GTIDS"
	}
	if _, err := db.Exec(reset); err != nil {
		t.Fatal(err)
	}
	// The connector cannot follow a binary log without any transaction: it fails until something is written.
	if _, err := db.Exec("INSERT INTO userDetails (id, labId_id, fullName) VALUES (920002, 12, 'Written Behind The Gap')"); err != nil {
		t.Fatal(err)
	}
	if out, err := verb(t, "connectors", "resume"); err == nil {
		t.Errorf("resume says that all is well:\n%s", out)
	}
	await.Nil(t, "a letter of each connector", func() error {
		letters := readTopic(t, "cdc.connector-dlq")[lettersBefore:]
		seen := map[string]bool{}
		for _, m := range letters {
			if h := headers(m); h["__connect.errors.exception.stacktrace"] != "" {
				seen[h["__connect.errors.connector.name"]] = true
			}
		}
		if !seen["source-existing"] || !seen["source-projection"] {
			return fmt.Errorf("%d letters, of %v", len(letters), seen)
		}
		return nil
	})
	if out, err := verb(t, "connectors", "status"); err == nil || !strings.Contains(out, "FAILED") {
		t.Errorf("status: %v\n%s", err, out)
	} else {
		t.Log(out)
	}
	must("connectors", "reset")
	await.Nil(t, "the row of the gap", func() error {
		text, err := fetch(http.MethodGet, platform.Endpoints.Elasticsearch+"/user_details/_doc/920001?routing=12", "")
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "Written In The Gap") {
			return fmt.Errorf("the document says %s", text)
		}
		return nil
	})
	converge(t, db)
	if n := len(readTopic(t, "cdc.connector-dlq")) - lettersBefore; n > 4 {
		t.Errorf("%d letters about two failures", n)
	}
}

// TestTheDatabasePasswordIsNotInTheConnectorsConfigurations: Kafka Connect shows them to everybody who may ask it.
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
