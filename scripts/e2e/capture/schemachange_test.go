package capture

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/services/cdc/connectors"
)

// gh-ost and pt-online-schema-change copy a table into a shadow table with the new structure, and finally rename both.
// The connectors must continue, also after a restart at each step, although they capture neither the shadow table nor
// the copying.
func TestAnOnlineSchemaChangePassesWhileConnectorsRunAndRestart(t *testing.T) {
	db := database(t)
	must := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatalf("%s: got error %v, want none", query, err)
		}
	}
	cdc := &consumer{name: "cdc", http: platform.Endpoints.CDC}
	await.Nil(t, "both connectors being up", func() error { return connectorsUp(cdc, "1 1") })
	next := 921_000
	arrives := func(what string) {
		t.Helper()
		next++
		must("INSERT INTO userDetails (id, labId_id, fullName) VALUES (?, 12, ?)", next, fmt.Sprint("Shadow ", next))
		await.Nil(t, what, func() error { return shown(next, fmt.Sprint("Shadow ", next)) })
	}
	restart := func() {
		t.Helper()
		for _, name := range connectors.Names() {
			if _, err := fetch(http.MethodPost, platform.Endpoints.Connector+"/connectors/"+name+"/restart?includeTasks=true", ""); err != nil && !strings.Contains(err.Error(), "202") {
				t.Fatal(err)
			}
		}
		await.Nil(t, "both connectors being up", func() error { return connectorsUp(cdc, "1 1") })
	}
	for _, tool := range []struct{ name, shadow, old string }{{"gh-ost", "_userDetails_gho", "_userDetails_del"}, {"pt-online-schema-change", "_userDetails_new", "_userDetails_old"}} {
		for _, restarts := range []bool{false, true} {
			name := fmt.Sprintf("%s, connectors restart: %v", tool.name, restarts)
			step := func(query string) {
				t.Helper()
				must(query)
				if restarts {
					restart()
				}
				arrives(name + ": a patient behind " + query)
			}
			column := fmt.Sprintf("note_%s_%v", tool.old[1:5]+tool.old[len(tool.old)-3:], restarts)
			step("CREATE TABLE " + tool.shadow + " LIKE userDetails")
			step("ALTER TABLE " + tool.shadow + " ADD COLUMN " + column + " VARCHAR(8) NOT NULL DEFAULT 'x'")
			copyRows(t, db, tool.shadow)
			step("RENAME TABLE userDetails TO " + tool.old + ", " + tool.shadow + " TO userDetails")
			step("DROP TABLE " + tool.old)
			must("ALTER TABLE userDetails DROP COLUMN " + column) // restores the table for the other tests
			arrives(name + ": a patient behind the end")
		}
	}
	converge(t, db)
}

// copyRows copies all rows, including zero dates, which MySQL refuses by default.
func copyRows(t *testing.T, db *sql.DB, shadow string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, query := range []string{"SET SESSION sql_mode = ''", "INSERT INTO " + shadow + " SELECT *, 'y' FROM userDetails", "SET SESSION sql_mode = DEFAULT"} {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: got error %v, want none", query, err)
		}
	}
}
