package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	_ "embed"

	"github.com/labplatform/labplatform/scripts/devstack/day"
	"github.com/labplatform/labplatform/scripts/devstack/volume"
)

//go:embed soak.md
var soakText string

// window is the share of a soak that is compared with an equal share directly before it. Of an hour, it is one
// simulated day.
const window = 0.4

// sampleEvery is how often levels are read.
const sampleEvery = 15 * time.Second

// soak holds the measurements of a run in which nothing is broken.
type soak struct {
	levels        [2]map[string][]float64 // values of each window
	kept          []map[string]float64    // at the three bounds of the windows
	first, second time.Time
}

// crowd inserts patients of earlier days and waits until all are found.
func (r *run) crowd(ctx context.Context) error {
	into := volume.Laboratory{ID: day.Laboratory, Branch: day.Branch, Tests: []int{55, 64, 65, 66}, FirstBill: 1000}
	all := volume.Config{Users: r.patients, Labs: 1, SeedNumber: r.seed, Into: &into}
	if err := volume.Load(ctx, r.check.store, all, r.out, time.Now); err != nil {
		return err
	}
	begin := time.Now()
	err := until(ctx, 30*time.Minute, "every patient in the index", r.patientIsFound())
	r.say("all are found %.1f s later", time.Since(begin).Seconds())
	return err
}

// measure takes measurements while the simulation runs.
func (r *run) measure(ctx context.Context) {
	whole := time.Duration(r.minutes * float64(time.Minute))
	part := time.Duration(window * float64(whole))
	bounds := []time.Time{r.begin.Add(whole - 2*part), r.begin.Add(whole - part), r.begin.Add(whole)}
	r.soak.first, r.soak.second = bounds[0], bounds[1]
	pauseFor(ctx, time.Until(bounds[0]))
	r.soak.kept = append(r.soak.kept, r.whatIsKept(ctx))
	for i, end := range bounds[1:] {
		r.soak.levels[i] = map[string][]float64{}
		for ctx.Err() == nil && time.Now().Before(end) {
			for name, level := range r.levels(ctx) {
				r.soak.levels[i][name] = append(r.soak.levels[i][name], level)
			}
			pauseFor(ctx, min(sampleEvery, time.Until(end)))
		}
		r.soak.kept = append(r.soak.kept, r.whatIsKept(ctx))
		r.say("measured; %d promises are open", len(r.people.ledger.open()))
	}
}

// levels returns the figures that must not grow.
func (r *run) levels(ctx context.Context) map[string]float64 {
	all := map[string]float64{}
	for _, v := range r.vitals(ctx) {
		all["memory "+v.Service], all["goroutines "+v.Service], all["files "+v.Service] = v.Memory, v.Goroutines, v.Files
	}
	for _, engine := range r.engines {
		all["engine's memory "+engine] = residentMemory(r.PID(engine))
	}
	return all
}

func residentMemory(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize())
}

// whatIsKept returns the numbers of rows and keys and the bytes that work leaves behind.
func (r *run) whatIsKept(ctx context.Context) map[string]float64 {
	all := map[string]float64{}
	client := redis.NewClient(&redis.Options{Addr: r.Endpoints.RedisAddr})
	defer client.Close()
	all["keys of Redis"] = float64(client.DBSize(ctx).Val())
	for _, name := range slices.Concat(r.services, r.engines) {
		all["bytes of the log of "+name] = size(filepath.Join(r.Dir, "logs", name+".log"))
	}
	for _, engine := range []string{"mysql", "mongo", "redis", "kafka", "elasticsearch"} {
		all["bytes of the data of "+engine] = size(filepath.Join(r.Dir, "data", engine))
	}
	all["bytes of objects"] = size(r.check.objects)
	rows, err := r.check.store.QueryContext(ctx, "SELECT TABLE_NAME FROM information_schema.TABLES"+
		" WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'")
	if err != nil {
		r.check.violated("tables are not counted: %v", err)
		return all
	}
	defer rows.Close()
	for rows.Next() {
		var table string
		var count float64
		err := rows.Scan(&table)
		if err == nil {
			err = r.check.store.QueryRowContext(ctx, "SELECT COUNT(*) FROM `"+table+"`").Scan(&count)
		}
		if err != nil {
			r.check.violated("table %s is not counted: %v", table, err)
		}
		all["rows of "+table] = count
	}
	if err := rows.Err(); err != nil {
		r.check.violated("tables are not counted: %v", err)
	}
	return all
}

// size returns the size of a file, or of all files of a folder. Files that are deleted meanwhile count as 0.
func size(path string) (bytes float64) {
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				bytes += float64(info.Size())
			}
		}
		return nil
	})
	return bytes
}

var numbersOfPaths = regexp.MustCompile(`/\d+`)

// operation returns a request's method and path without ids.
func operation(method, path string) string {
	return method + " " + numbersOfPaths.ReplaceAllString(path, "/{id}")
}
