package restore

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
	"github.com/labplatform/labplatform/scripts/e2e/demolab"
)

// Tables without rows of a laboratory, or whose rows are created again automatically.
var ofTheInstallation = regexp.MustCompile(
	`^(NotificationTypesMaster|callout_input|callout_sweep|cells|cdc_.*|devstack_seed|goose_.*|outbox_.*|tq_provider|user_meta)$`)

// Paths that are read for laboratory 12 before and after its move.
var readings = []string{
	"/api-v3/sample-rerun/7001", "/operation/critical-callout/open", "/report/9011/critical/records",
	"/report/bulk/critical-notification/logs?report_ids=7001", "/api-v3/cell-counter-mappings/55",
}

// patients are the phone numbers of some patients of laboratory 12.
var patients = []string{"9876543210", "9822011223", "9848022338"}

// TestALaboratoryMovesToAnotherCell follows the handbook: laboratory 12 moves to another installation, which has served
// laboratory 13 before. Requests go through the router, with the host 127.0.0.1. The short form has no change capture,
// and so no search.
func TestALaboratoryMovesToAnotherCell(t *testing.T) {
	tools := mongoTools(t)
	rows := strict + block(t, "Say which rows are the laboratory's, in the order in which they can be deleted:")
	deletion := block(t, "Delete it in the previous cell, whose change capture takes it out of the index:")
	comparing := block(t, "Count what both cells have of it; nothing is printed when they agree:")
	copying := block(t, "Copy the laboratory's rows and files while its requests get 503:")
	previous, next := startCell(t, 1), startCell(t, 2)
	haveUsers(t, previous.Platform)
	haveUsers(t, next.Platform)
	move := t.TempDir()
	follow(t, rows+"\n"+deletion, moving(t, next, previous, move), tools) // the next cell has the demo data, too
	previous.wantEveryTable(t, filepath.Join(move, "rows"))
	others := previous.countOthers(t)

	directory := filepath.Join(t.TempDir(), "cells.json")
	direct(t, directory, previous, next, `{"cell": "previous"}`)
	router := previous.startRouter(t, directory)
	router.Rerun(t)
	before := map[string]string{}
	for _, path := range readings {
		before[path] = timeless(router.MustAsk(t, "GET", path, ""))
	}
	previous.finds(t, patients...)
	next.finds(t)

	direct(t, directory, previous, next, `{"cell": "previous", "moving": true}`)
	await.Nil(t, "the router lets no one in", func() error {
		_, err := router.Reruns(t.Context())
		if err == nil {
			return errors.New("it answers")
		}
		if strings.Contains(err.Error(), "503") {
			return nil
		}
		return err
	})
	previous.sent(t)
	environment := moving(t, previous, next, move)
	follow(t, rows+"\n"+copying+"\n"+comparing, environment, tools)
	if long() {
		must(t, next.Run(t.Context(), "exec", "cdc", "reconcile", "--wait", "2m"))
	}
	direct(t, directory, previous, next, `{"cell": "next"}`)
	next.finds(t, patients...)
	for _, path := range readings {
		same(t, path, before[path], func() (string, error) {
			answer, err := router.Ask(t.Context(), "GET", path, "")
			return timeless(answer), err
		})
	}
	router.MustAsk(t, "POST", "/report/9005/critical/callout", `{"lab_report_ids":[7009],"recipients":["Referral Doctor"],
		"communication_methods":["call"],"notified_person":"Dr Rao","read_back":true}`)

	follow(t, strict+deletion, environment, tools)
	if diff := cmp.Diff(others, previous.countOthers(t)); diff != "" {
		t.Errorf("rows of others in the previous cell, by table (-before +after):\n%s", diff)
	}
	previous.finds(t)
	if _, err := previous.Reruns(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("the previous cell answers %v about the laboratory that left", err)
	}
}

// finds waits until searches in the cell find exactly these patients. In the short form it does nothing.
func (c cell) finds(t *testing.T, want ...string) {
	t.Helper()
	if !long() {
		return
	}
	await.Nil(t, "what search shows", func() error {
		var found []string
		for _, contact := range patients {
			answer, err := c.Ask(t.Context(), "POST", "/api/v1/users/search", fmt.Sprintf(`{"query":%q}`, contact))
			if err != nil {
				return err
			}
			if strings.Contains(answer, contact) {
				found = append(found, contact)
			}
		}
		if !slices.Equal(found, want) {
			return fmt.Errorf("%v, want %v", found, want)
		}
		return nil
	})
}

// timeless removes the time of the response from a body.
func timeless(answer string) string {
	return regexp.MustCompile(`"now":"[^"]*"`).ReplaceAllString(answer, "")
}

// cell is a platform that is one of several cells.
type cell struct {
	demolab.Platform
	db *sql.DB
}

// startCell starts a platform whose new rows have ids that no other cell uses.
func startCell(t *testing.T, number int) cell {
	t.Helper()
	c := cell{Platform: demolab.Start(t, pipeline())}
	var err error
	c.db, err = sql.Open("mysql", c.Endpoints.MySQLDSN)
	must(t, err)
	t.Cleanup(func() { _ = c.db.Close() })
	for _, set := range []string{"increment = 16", "offset = " + strconv.Itoa(number)} {
		_, err := c.db.ExecContext(t.Context(), "SET GLOBAL auto_increment_"+set)
		must(t, err)
	}
	for _, service := range c.Services() { // existing sessions keep the previous increment
		must(t, c.Stop(service))
		must(t, c.Start(service, nil))
	}
	for _, path := range readings {
		await.Nil(t, path, func() error {
			_, err := c.Ask(t.Context(), "GET", path, "")
			return err
		})
	}
	return c
}

// direct writes the directory of cells, with this entry for laboratory 12.
func direct(t *testing.T, file string, previous, next cell, laboratory string) {
	t.Helper()
	text := fmt.Sprintf(`{"cells": {"previous": %q, "next": %q}, "laboratories": {"127.0.0.1": %s}}`,
		previous.Endpoints.Gateway, next.Endpoints.Gateway, laboratory)
	must(t, os.WriteFile(file+".new", []byte(text), 0o600))
	must(t, os.Rename(file+".new", file))
}

// startRouter starts a router and returns the platform as reached through it.
func (c cell) startRouter(t *testing.T, directory string) demolab.Platform {
	t.Helper()
	base, err := endpoints.FreeBase()
	must(t, err)
	must(t, c.StartProgram("router", c.Endpoints.Commands["gateway"], map[string]string{
		"GATEWAY_CELLS_FILE": directory, "GATEWAY_HOST": "127.0.0.1",
		"GATEWAY_PORT": strconv.Itoa(base), "GATEWAY_ADMIN_PORT": strconv.Itoa(base + 1),
	}))
	ends := c.Endpoints
	ends.Gateway = fmt.Sprintf("http://127.0.0.1:%d", base)
	router := demolab.Platform{Sandbox: &sandbox.Sandbox{Endpoints: ends}}
	await.Nil(t, "the router", func() error {
		_, err := router.Reruns(t.Context())
		return err
	})
	return router
}

// sent waits until the outboxes of the cell are empty.
func (c cell) sent(t *testing.T) {
	t.Helper()
	await.Nil(t, "the messages", func() error {
		for _, table := range c.tables(t) {
			n := 0
			if strings.HasPrefix(table, "outbox_") {
				must(t, c.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n))
			}
			if n > 0 {
				return fmt.Errorf("%d in %s", n, table)
			}
		}
		return nil
	})
}

func (c cell) tables(t *testing.T) []string {
	t.Helper()
	var list []string
	for table := range count(t, c.db) {
		list = append(list, table)
	}
	slices.Sort(list)
	return list
}

// wantEveryTable fails for a table that the handbook's commands do not mention.
func (c cell) wantEveryTable(t *testing.T, rows string) {
	t.Helper()
	text, err := os.ReadFile(rows)
	must(t, err)
	var named []string
	for line := range strings.Lines(string(text)) {
		_, tables, _ := strings.Cut(line, ":")
		named = append(named, strings.Fields(tables)...)
	}
	for _, table := range c.tables(t) {
		if slices.Contains(named, table) == ofTheInstallation.MatchString(table) {
			t.Errorf("does a laboratory that moves take its rows of %s along?", table)
		}
	}
}

// countOthers returns the number of rows of all other laboratories, by table.
func (c cell) countOthers(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range []string{"userDetails", "billing", "billingInfo", "labReportRelation", "AllTests", "labUser"} {
		n := 0
		must(t, c.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table+" WHERE labId_id <> 12").Scan(&n))
		counts[table] = n
	}
	return counts
}

// moving returns the variables of the handbook's commands for moving laboratory 12 between two cells.
func moving(t *testing.T, from, to cell, move string) []string {
	t.Helper()
	environment := append(passwords(), "LAB=12", "MOVE="+move)
	for name, c := range map[string]cell{"FROM": from, "TO": to} {
		dsn, err := mysql.ParseDSN(c.Endpoints.MySQLDSN)
		must(t, err)
		host, port, err := net.SplitHostPort(dsn.Addr)
		must(t, err)
		objects, err := url.Parse(c.Endpoints.BlobURL)
		must(t, err)
		environment = append(environment, "DB_DATABASE="+dsn.DBName,
			name+"_HOST="+host, name+"_PORT="+port, "OBJECTS_"+name+"="+objects.Path,
			"MONGO_"+name+"="+c.Endpoints.MongoURI, "MONGO_DATABASE="+c.Endpoints.MongoDatabase)
	}
	return environment
}
