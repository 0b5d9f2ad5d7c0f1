package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	_ "embed"

	"github.com/labplatform/labplatform/scripts/e2e/prometheus"
)

//go:embed quiet.md
var quietText string

// maxQuiet is the allowed increase of goroutines, files or connections, in addition to a share of their number.
const maxQuiet = 5

// watched are the figures of each process that must not grow.
var watched = []struct {
	name, expr string
	floor      float64
}{
	{"memory", "process_resident_memory_bytes", maxMemory},
	{"goroutines", "go_goroutines", maxQuiet},
	{"open files", "process_open_fds", maxQuiet},
	{"database connections", "go_sql_open_connections", maxQuiet},
	{"waits for a database connection", "go_sql_wait_count_total", maxQuiet},
}

// sample is a value at a time of the run.
type sample struct {
	at    time.Duration
	value float64
}

// quietFigures are the figures of an idle platform on the page.
type quietFigures struct {
	figures
	Looks     int
	Short     float64 // percent of the time in which a process waited for a CPU
	Idle      time.Duration
	Floors    string
	Processes []stillProcess // the processes with a finding
	Alerts    []alertFigure
	Levels    []level // levels that rose by shownRise of the allowed increase
	Still     int     // number of the other levels
}

// stillProcess holds the health responses of a process.
type stillProcess struct {
	Name    string
	Answers string
	Grew    string // the figures that grew
}

// alertFigure is an alert that was pending or fired.
type alertFigure struct {
	Name, Of, State string
	For             time.Duration
}

// level is a figure of a process or link over the run. Halves has one number for each half of the run: the minimum of
// its last third minus the minimum of its second third.
type level struct {
	growth
	Max    float64
	Halves [2]float64
	Grows  bool
}

func (r *run) quietFigures() quietFigures {
	f := quietFigures{Looks: r.watch.looks, Idle: idleLimit, Floors: fmt.Sprintf("%d MiB (memory) or %d (goroutines, files, connections)", maxMemory>>20, maxQuiet)}
	f.Short = 100 * r.watch.short.Minutes() / r.minutes
	grew := map[string][]string{}
	whole := time.Duration(r.minutes * float64(time.Minute))
	add := func(process, what string, samples []sample, floor float64) {
		l := levelOf(what+" "+process, samples, whole, floor)
		if max(l.Halves[0], l.Halves[1]) >= shownRise*floor {
			f.Levels = append(f.Levels, l)
		} else {
			f.Still++
		}
		if l.Grows {
			grew[process] = append(grew[process], what)
			r.check.violated("%s grew by %s", l.Name, l.Show(l.Halves[1]))
		}
	}
	for _, w := range watched {
		for _, line := range sorted(r.watch.levels[w.name]) {
			add(line.Labels["job"], w.name, r.samples(line), w.floor)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.watch.open)) {
		add(name, "connections to", r.watch.open[name], maxQuiet)
	}
	for _, service := range r.services {
		one := stillProcess{service, "200", strings.Join(grew[service], ", ")}
		if wrong := r.watch.wrong[service]; len(wrong) > 0 {
			var paths []string
			for _, path := range slices.Sorted(maps.Keys(wrong)) {
				paths = append(paths, fmt.Sprintf("%s %d× not 200", path, wrong[path]))
			}
			one.Answers = strings.Join(paths, ", ")
		}
		if one.Answers != "200" || one.Grew != "" {
			f.Processes = append(f.Processes, one)
		}
	}
	evaluated := false
	for _, line := range sorted(r.watch.alerts) {
		a := alertOf(line)
		if a.Name == watchdog {
			evaluated = true
			continue
		}
		if f.Alerts = append(f.Alerts, a); a.State == "firing" {
			r.check.violated("the alert %s fired of %s", a.Name, a.Of)
		}
	}
	if !evaluated {
		r.check.violated("no alert was evaluated")
	}
	f.figures = r.figures()
	return f
}

// samples returns the points of a line, by the time of the run.
func (r *run) samples(line prometheus.Line) (all []sample) {
	begin := float64(r.begin.UnixMilli()) / 1000
	for _, p := range line.Points {
		all = append(all, sample{time.Duration((p[0] - begin) * float64(time.Second)), p[1]})
	}
	return all
}

func sorted(lines []prometheus.Line) []prometheus.Line {
	return slices.SortedFunc(slices.Values(lines), func(a, b prometheus.Line) int {
		return strings.Compare(a.Labels["alertname"]+a.Labels["job"], b.Labels["alertname"]+b.Labels["job"])
	})
}

// alertOf returns the subject and the duration of an alert; points are a second apart.
func alertOf(line prometheus.Line) alertFigure {
	a := alertFigure{Name: line.Labels["alertname"], State: line.Labels["alertstate"],
		For: time.Duration(len(line.Points)) * time.Second}
	for _, label := range slices.Sorted(maps.Keys(line.Labels)) {
		switch label {
		case "__name__", "alertname", "alertstate", "severity", "namespace":
		default:
			a.Of += label + " " + line.Labels[label] + " "
		}
	}
	a.Of = strings.TrimSpace(a.Of)
	return a
}

// levelOf decides whether a figure grows: its least value in the last sixth of the run exceeds that of the sixth
// before, by a share of it and the floor. Unbounded growth raises the least value; a burst of work, a pending garbage
// collection and the start of a process do not. The same comparison before work begins is shown beside it.
func levelOf(name string, samples []sample, whole time.Duration, floor float64) level {
	l := level{growth: growth{Name: name}}
	if len(samples) == 0 {
		return l
	}
	l.First, l.Last = samples[0].value, samples[len(samples)-1].value
	for _, s := range samples {
		l.Max = max(l.Max, s.value)
	}
	for half := range l.Halves {
		end := whole * time.Duration(half+1) / 2
		before, after := between(samples, end-whole/3, end-whole/6), between(samples, end-whole/6, end)
		if len(before) == 0 || len(after) == 0 {
			continue
		}
		from, to := slices.Min(before), slices.Min(after)
		l.Halves[half] = to - from
		l.Grows = to > from+maxPart*from+floor // the last comparison counts
	}
	return l
}

// between returns the values from a time until before another one.
func between(samples []sample, from, to time.Duration) (values []float64) {
	for _, s := range samples {
		if s.at >= from && s.at < to {
			values = append(values, s.value)
		}
	}
	return values
}
