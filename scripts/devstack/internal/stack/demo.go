package stack

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/scripts/devstack/day"
	"github.com/labplatform/labplatform/scripts/devstack/fixtures"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/secrets"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

// A row in table devstack_seed marks a fixture as loaded, so that no later start overwrites changes of users.
const (
	createMarkers = "CREATE TABLE IF NOT EXISTS `devstack_seed` (`name` VARCHAR(64) NOT NULL PRIMARY KEY," +
		" `loaded_at` BIGINT NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci"
	countMarker = "SELECT COUNT(*) FROM `devstack_seed` WHERE `name` = ?"
	writeMarker = "REPLACE INTO `devstack_seed` (`name`, `loaded_at`) VALUES (?, ?)"
	demoName    = "demo"
)

// seed loads the demo laboratory at the first start. Later starts only renew its sessions, which expire.
func (r *running) seed(ctx context.Context) error {
	if r.Settings.Seed != settings.SeedDemo {
		return nil
	}
	fixture, err := fixtures.Demo()
	if err != nil {
		return err
	}
	if err := r.writeDoor(); err != nil {
		return err
	}
	config, err := mysql.ParseDSN(r.target)
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	target := seed.Target{MySQLDSN: r.target, RedisAddr: r.stack.RedisAddr, MongoURI: r.stack.MongoURI,
		MongoDatabase: r.stack.MongoDatabase, BlobURL: r.stack.BlobURL, Now: r.Now}
	return execute(ctx, config, func(db *sql.DB) error { return r.seedOnce(ctx, db, target, fixture) })
}

func (r *running) seedOnce(ctx context.Context, db *sql.DB, target seed.Target, fixture *seed.Fixture) error {
	if _, err := db.ExecContext(ctx, createMarkers); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	loaded, err := r.once(ctx, db, demoName, func() error {
		counts, err := target.Apply(ctx, fixture)
		if err != nil {
			return fmt.Errorf("demo laboratory: %w", err)
		}
		fmt.Fprintf(r.Out, "demo laboratory loaded: %s\n", counts)
		return nil
	})
	if err != nil || !loaded {
		return errors.Join(err, target.ApplySessions(ctx, fixture))
	}
	return nil
}

// once runs load unless an earlier start did it under this name. It reports whether load ran.
func (r *running) once(ctx context.Context, db *sql.DB, name string, load func() error) (loaded bool, err error) {
	var before int
	if err := db.QueryRowContext(ctx, countMarker, name).Scan(&before); err != nil {
		return false, fmt.Errorf("seed: %w", err)
	}
	if before > 0 {
		return false, nil
	}
	if err := load(); err != nil {
		return false, err
	}
	if _, err := db.ExecContext(ctx, writeMarker, name, r.Now().UnixMilli()); err != nil {
		return false, fmt.Errorf("seed: %w", err)
	}
	return true, nil
}

// pace is the speed of the simulation: simulated minutes per minute.
const pace = 60

// playDays simulates the work of the demo laboratory until ctx ends.
func (r *running) playDays(ctx context.Context) {
	if err := r.loadCrowd(ctx); err != nil {
		fmt.Fprintln(r.Out, err)
	}
	fmt.Fprintf(r.Out, "The laboratory works at %d times its pace, from seven in the morning; LAB_DEMO=off keeps it quiet.\n", pace)
	_, err := day.Run(ctx, day.Config{Endpoints: r.endpoints(), Pace: pace, Seed: uint64(r.Now().Unix()), Out: r.Out,
		Token: func() (string, error) { return r.stack.Secrets.OperatorToken(clock.System{}, secrets.Gateway) }})
	if err != nil {
		fmt.Fprintln(r.Out, err)
	}
}

// link is an additional link on the gateway's first page.
type link struct {
	URL     string            `json:"url"`
	Title   string            `json:"title"`
	Text    string            `json:"text"`
	Counter map[string]string `json:"counter,omitempty"`
}

// writeDoor writes the file with the demo users and the links for the gateway's first page. It names everyone who can
// sign in there without a password.
func (r *running) writeDoor() error {
	people, err := fixtures.People()
	if err != nil {
		return err
	}
	queue := r.stack.URL(ports.Admin("taskqueue"))
	links := []link{
		{queue + "/queue-admin/", "Task queue", "What waits, what failed and why; pause a channel, try jobs again.",
			map[string]string{"metrics": queue + "/metrics", "name": "taskqueue_enqueued_total", "unit": "jobs"}},
		{URL: queue + "/outbox/", Title: "Outbox", Text: "Every message as its provider would have got it."},
	}
	if r.Settings.Traces {
		viewer := r.stack.URL(ports.TraceViewer)
		links = append(links, link{URL: viewer, Title: "Traces", Text: "What a request did, through every service."})
	}
	text, err := json.MarshalIndent(map[string]any{"people": people, "links": links}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.stack.DemoFile, text, 0o600)
}
