package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/scripts/e2e/prometheus"
)

const (
	// idleLimit is the time after which the links close idle connections. Servers, brokers and firewalls do so after
	// minutes or hours; with it a run of minutes shows the effects of hours. It is longer than the 20 seconds after which
	// the platform itself closes them.
	idleLimit  = 30 * time.Second
	watchPause = 10 * time.Second
	workPause  = time.Minute
)

// quietSettings make the deadline of every report later than the end of the run, because no one calls.
var quietSettings = []string{"LAB_PIPELINE=on", "CALLOUT_ESCALATE_AFTER=24h"}

func (o options) settings() []string {
	if o.quiet {
		return quietSettings
	}
	return settings
}

func (o options) idle() time.Duration {
	if o.quiet {
		return idleLimit
	}
	return 0
}

// watch holds what was observed on an idle platform.
type watch struct {
	looks  int
	wrong  map[string]map[string]int // responses other than 200, by service and path
	open   map[string][]sample       // connections, by the engine or service behind the link
	levels map[string][]prometheus.Line
	alerts []prometheus.Line
	short  time.Duration // time in which a process waited for a CPU of this machine
}

// beQuiet watches the platform for the time of the run: half of it without requests, then with a request a minute to
// each area.
func (r *run) beQuiet(ctx context.Context) error {
	r.watch.wrong, r.watch.open = map[string]map[string]int{}, map[string][]sample{}
	server, err := r.startPrometheus(ctx)
	if err != nil {
		return err
	}
	defer server.Stop()
	r.begin = time.Now()
	short := pressure()
	r.say("the platform is idle; its alerts are evaluated, and its logs are in %s", filepath.Join(r.Dir, "logs"))
	whole := time.Duration(r.minutes * float64(time.Minute))
	var working sync.WaitGroup
	working.Go(func() {
		pauseFor(ctx, whole/2)
		r.say("now with a request a minute to each area")
		for ctx.Err() == nil && time.Since(r.begin) < whole {
			r.workOnce(ctx)
			pauseFor(ctx, workPause)
		}
	})
	for ctx.Err() == nil && time.Since(r.begin) < whole {
		r.look(ctx)
		pauseFor(ctx, watchPause)
	}
	r.watch.short = pressure() - short
	err = r.readFigures(ctx, server, time.Since(r.begin))
	working.Wait()
	return err
}

// pressure returns how long some process has waited for a CPU since the start of this machine; 0 if unknown.
func pressure() time.Duration {
	text, _ := os.ReadFile("/proc/pressure/cpu")
	_, total, _ := strings.Cut(string(text), "total=")
	total, _, _ = strings.Cut(total, "\n")
	waited, _ := strconv.ParseInt(total, 10, 64)
	return time.Duration(waited) * time.Microsecond
}

// startPrometheus scrapes every service and evaluates the alerts of all charts, as an installation does.
func (r *run) startPrometheus(ctx context.Context) (*prometheus.Server, error) {
	folder := filepath.Join(r.Dir, "prometheus")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	if err := prometheus.Fetch(ctx, folder); err != nil {
		return nil, err
	}
	rules, err := writeRules(r.charts, folder, r.services)
	if err != nil {
		return nil, err
	}
	targets := map[string]string{}
	for _, service := range r.services {
		targets[service] = strings.TrimPrefix(r.adminURL(service), "http://")
	}
	return prometheus.Start(ctx, folder, rules, targets, watchPause)
}

// watchdog is an alert that always fires; if it does not, no alert was evaluated.
const (
	watchdog     = "Watchdog"
	watchdogRule = "groups: [{name: watchdog, rules: [{alert: " + watchdog + ", expr: vector(1)}]}]\n"
)

// writeRules returns the files of the charts' alerts. The alerts that all services share are written into the folder
// for each of them, with the names that the charts put there.
func writeRules(charts, folder string, services []string) ([]string, error) {
	const shared = "labkit"
	found, err := filepath.Glob(filepath.Join(charts, "*", "files", "alerts.yaml"))
	if err != nil {
		return nil, err
	}
	var files []string
	var text []byte
	for _, file := range found {
		if filepath.Base(filepath.Dir(filepath.Dir(file))) == shared {
			text, err = os.ReadFile(file)
		} else if file, err = filepath.Abs(file); err == nil {
			files = append(files, file)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(text) == 0 || len(files) == 0 {
		return nil, fmt.Errorf("no alerts in %s: run this in the repository", charts)
	}
	for _, service := range services {
		own := bytes.ReplaceAll(text, []byte(`job="rerun"`), fmt.Appendf(nil, "job=%q", service))
		own = bytes.ReplaceAll(own, []byte("name: rerun-process"), fmt.Appendf(nil, "name: %s-process", service))
		file := filepath.Join(folder, service+"-process.yaml")
		if err := os.WriteFile(file, own, 0o600); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	file := filepath.Join(folder, "watchdog.yaml")
	return append(files, file), os.WriteFile(file, []byte(watchdogRule), 0o600)
}

// look requests the health of every process.
func (r *run) look(ctx context.Context) {
	r.watch.looks++
	for _, service := range r.services {
		paths := []string{"/health/live", "/health/ready", "/health"}
		if service == "cdc" {
			paths = append(paths, "/ready")
		}
		for _, path := range paths {
			if _, err := r.fetch(ctx, r.adminURL(service)+path); err != nil && ctx.Err() == nil {
				r.isWrong(service, path, err)
			}
		}
	}
	for _, name := range slices.Concat(r.services, r.engines) {
		if syscall.Kill(r.PID(name), 0) != nil {
			r.check.violated("%s ended", name)
		}
	}
	for name, link := range r.links {
		r.watch.open[name] = append(r.watch.open[name], sample{time.Since(r.begin), float64(link.Connections())})
	}
}

func (r *run) isWrong(service, path string, err error) {
	if r.watch.wrong[service] == nil {
		r.watch.wrong[service] = map[string]int{}
	}
	if r.watch.wrong[service][path]++; r.watch.wrong[service][path] == 1 {
		r.say("%v", err)
	}
	r.check.violated("%s did not answer 200 to GET %s", service, path)
}

// workOnce sends a request to each area and waits until it succeeds.
func (r *run) workOnce(ctx context.Context) {
	for what, probe := range r.probes() {
		if err := until(ctx, recoverWithin, what, probe); err != nil && ctx.Err() == nil {
			r.check.violated("%v", err)
		}
	}
}

// readFigures reads the results of the run from Prometheus.
func (r *run) readFigures(ctx context.Context, server *prometheus.Server, whole time.Duration) (err error) {
	r.watch.levels = map[string][]prometheus.Line{}
	for _, level := range watched {
		if r.watch.levels[level.name], err = server.Range(ctx, level.expr, whole); err != nil {
			return err
		}
	}
	r.watch.alerts, err = server.Range(ctx, "ALERTS", whole)
	return err
}
