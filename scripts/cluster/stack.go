package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// stack holds the needed fields of devstack's endpoints.json.
type stack struct {
	PIDs    map[string]int               `json:"pids"`
	Environ map[string]map[string]string `json:"environ"`
}

func (c cluster) stackDir() string { return filepath.Join(c.dir, "stack") }

func (c cluster) readStack() (s stack, err error) {
	text, err := os.ReadFile(filepath.Join(c.stackDir(), "endpoints.json"))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

func (c cluster) devstack(verb ...string) command {
	bin := filepath.Join(filepath.Dir(c.node.Bin), "devstack")
	distributions := or(os.Getenv("LAB_DISTRIBUTIONS"), filepath.Join(filepath.Dir(c.dir), "distributions"))
	return command{args: append([]string{bin, "--dir", c.stackDir()}, verb...), dir: c.root, env: []string{"LAB_DEMO=off",
		"LAB_PORT_BASE=" + strconv.Itoa(c.portBase), "LAB_DISTRIBUTIONS=" + distributions,
		"LAB_KAFKA_ADVERTISED=" + c.host + ":9092"}}
}

// startEngines starts the local stack, which loads the demo laboratory, and then ends its services, because the cluster
// runs them.
func (c cluster) startEngines(ctx context.Context) error {
	if err := c.devstack("up").run(); err != nil {
		return err
	}
	running, err := c.readStack()
	if err != nil {
		return err
	}
	for _, chart := range charts {
		id := running.PIDs[chart]
		if program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", id)); err != nil || filepath.Base(program) != chart {
			continue // it has ended already; another process may have the number
		}
		if err := end(id); err != nil {
			return fmt.Errorf("%s of the stack: %w", chart, err)
		}
	}
	return await(ctx, 10*time.Second, c.makeDatabaseUsers)
}

// Passwords of the two database users.
const (
	ownerPassword   = "owner-of-the-tables"
	servingPassword = "serves-and-changes-no-table"
)

// makeDatabaseUsers makes a user for migrations and one for serving.
func (c cluster) makeDatabaseUsers() error {
	statements := `CREATE USER IF NOT EXISTS lab_owner@'%' IDENTIFIED BY '` + ownerPassword + `';
		CREATE USER IF NOT EXISTS lab@'%' IDENTIFIED BY '` + servingPassword + `';
		GRANT ALL ON lab.* TO lab_owner@'%';
		GRANT SELECT, INSERT, UPDATE, DELETE ON lab.* TO lab@'%';`
	return c.database(statements)
}

func (c cluster) database(statements string) error {
	return command{args: []string{"mariadb", "--no-defaults", "--host=127.0.0.1", "--user=root",
		"--port=" + strconv.Itoa(c.portBase+enginePorts[3306])}, input: statements}.run()
}
