package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

// replica is a server that has every acknowledged commit: while it follows, the primary acknowledges a commit only
// after the replica has stored it.
type replica struct {
	name, folder, address string
	argv                  []string
	db                    *sql.DB
}

// failover kills the primary of the database and makes its replica the primary under the same address.
func failover(p *platform, _ string) (begin, end func(context.Context) error) {
	return func(context.Context) error { return p.Kill("mysql") }, func(ctx context.Context) error {
		defer p.replica.db.Close()
		return p.promote(ctx, p.replica)
	}
}

// withReplicas returns the databases that can be copied through their binary log only, which is MariaDB.
func (p *platform) withReplicas() []string {
	if argv := p.Endpoints.Commands["mysql"]; len(argv) == 0 || !strings.Contains(argv[0], "mariadbd") {
		return nil
	}
	return []string{"mysql"}
}

// follow starts a replica of the primary and returns once it has all data.
func (p *platform) follow(ctx context.Context) error {
	base, err := endpoints.FreeBase()
	if err != nil {
		return err
	}
	p.generation++
	r := &replica{name: fmt.Sprintf("mysql-%d", p.generation), address: net.JoinHostPort("127.0.0.1", strconv.Itoa(base))}
	r.folder = filepath.Join(p.Dir, "data", r.name)
	if err := p.install(ctx, r); err != nil {
		return err
	}
	if err := p.StartProgram(r.name, r.argv, nil); err != nil {
		return err
	}
	if r.db, err = openStore("root@tcp(" + r.address + ")/"); err != nil {
		return err
	}
	p.replica = r
	if err := until(ctx, time.Minute, "the replica", r.db.PingContext); err != nil {
		return err
	}
	primary, err := openStore("root@tcp(" + p.primary + ")/")
	if err != nil {
		return err
	}
	defer primary.Close()
	_, port, _ := net.SplitHostPort(p.primary)
	if err := inOrder(ctx, r.db, "SET GLOBAL rpl_semi_sync_slave_enabled = ON", "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = "+port+
		", MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos", "START SLAVE"); err != nil {
		return err
	}
	if err := inOrder(ctx, primary, "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC", "SET GLOBAL rpl_semi_sync_master_enabled = ON"); err != nil {
		return err
	}
	return until(ctx, 2*time.Minute, "the replica's copy", func(ctx context.Context) error {
		var position, reached, name, state string
		err := primary.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&position)
		if err == nil {
			err = primary.QueryRowContext(ctx, "SHOW STATUS LIKE 'Rpl_semi_sync_master_status'").Scan(&name, &state)
		}
		if err == nil {
			err = r.db.QueryRowContext(ctx, "SELECT MASTER_GTID_WAIT(?, 1)", position).Scan(&reached)
		}
		if err == nil && (reached != "0" || state != "ON") {
			err = fmt.Errorf("it is behind %s, and semi-synchronous replication is %s", position, state)
		}
		return err
	})
}

func inOrder(ctx context.Context, db *sql.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// install makes the replica's folder and its command from those of the primary.
func (p *platform) install(ctx context.Context, r *replica) error {
	primary := p.datadir()
	_, port, _ := net.SplitHostPort(r.address)
	for _, argument := range p.Endpoints.Commands["mysql"] {
		switch {
		case strings.HasPrefix(argument, "--port="):
			argument = "--port=" + port
		case strings.HasPrefix(argument, "--server-id="):
			argument = fmt.Sprintf("--server-id=%d", p.generation+1)
		case argument == "--log-slave-updates": // added below
			continue
		}
		r.argv = append(r.argv, strings.Replace(argument, primary, r.folder, 1))
	}
	r.argv = append(r.argv, "--log-slave-updates")
	if err := errors.Join(os.MkdirAll(r.folder, 0o755), os.MkdirAll(r.folder+".tmp", 0o755)); err != nil {
		return err
	}
	if p.disks["mysql"] != "" {
		if err := syscall.Mount("tmpfs", r.folder, "tmpfs", 0, "size="+smallDisks["mysql"]); err != nil {
			return err
		}
	}
	make := exec.CommandContext(ctx, "mariadb-install-db", "--no-defaults", "--datadir="+r.folder, "--user=root",
		"--auth-root-authentication-method=normal", "--skip-test-db")
	if out, err := make.CombinedOutput(); err != nil {
		return fmt.Errorf("install the replica: %w\n%s", err, out)
	}
	return nil
}

func (p *platform) datadir() string {
	for _, argument := range p.Endpoints.Commands["mysql"] {
		if folder, is := strings.CutPrefix(argument, "--datadir="); is {
			return folder
		}
	}
	return ""
}

// promote waits until the replica has applied what it received, and routes all connections to it.
func (p *platform) promote(ctx context.Context, r *replica) error {
	if err := inOrder(ctx, r.db, "STOP SLAVE IO_THREAD"); err != nil {
		return err
	}
	sent, err := r.sent(ctx)
	if err != nil {
		return err
	}
	var reached int
	if err := r.db.QueryRowContext(ctx, "SELECT MASTER_GTID_WAIT(?, 15)", sent).Scan(&reached); err != nil || reached != 0 {
		return fmt.Errorf("the replica applied %d of what it has: %w", reached, err)
	}
	if err := inOrder(ctx, r.db, "STOP SLAVE", "RESET SLAVE ALL"); err != nil {
		return err
	}
	previous := p.datadir()
	p.TakeOver("mysql", r.name, r.argv)
	p.primary = r.address
	p.links["mysql"].Move(r.address)
	p.core.Move(r.address)
	if p.disks["mysql"] != "" {
		p.disks["mysql"] = r.folder
		_ = syscall.Unmount(previous, syscall.MNT_DETACH)
	}
	return os.RemoveAll(previous)
}

// sent returns the position in the primary's log up to which the replica has received changes.
func (r *replica) sent(ctx context.Context) (position string, err error) {
	rows, err := r.db.QueryContext(ctx, "SHOW SLAVE STATUS")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		return "", errors.Join(err, rows.Err(), errors.New("the replica follows no one"))
	}
	values := make([]any, len(columns))
	for i, column := range columns {
		if values[i] = new(sql.RawBytes); column == "Gtid_IO_Pos" {
			values[i] = &position
		}
	}
	return position, rows.Scan(values...)
}
