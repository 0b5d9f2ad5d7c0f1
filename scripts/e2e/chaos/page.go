package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	_ "embed"

	"github.com/labplatform/labplatform/scripts/devstack/day"
)

//go:embed page.md
var pageText string

func statusName(status int) string {
	if status == 0 {
		return "no answer"
	}
	return fmt.Sprint(status)
}

func refused(counts map[int]int) string {
	if len(counts) == 0 {
		return "nothing refused"
	}
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d×", statusName(status), counts[status]))
	}
	return strings.Join(parts, ", ")
}

func faultNames(faults []fault) string {
	var parts []string
	for _, f := range faults {
		parts = append(parts, f.String())
	}
	return strings.Join(parts, " + ")
}

func sortEvents(events []event) {
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.At, b.At) })
}

// figures are what the page shows.
type figures struct {
	Seed                                  uint64
	Commit, Machine                       string
	Minutes                               float64
	Faults, Happenings                    int
	Tally                                 day.Tally
	Promised, Kept, Late                  int
	Hooks, HooksTwice, Answered, Doubtful int
	Slowest, Warm                         time.Duration
	Recovered, Violations                 []string
	Classes                               []classFigures
	Kinds                                 []kind
	Answers                               []answerFigure
	Processes                             []processFigure
	Timelines                             []timeline
}

type classFigures struct {
	Name, Says      string
	Times           int
	Targets         string
	Median, Longest time.Duration
	Refusals        string
}

type answerFigure struct {
	Status        string
	Broken, Quiet int
}

type processFigure struct {
	Before, After vitals
	Replaced      bool
}

type timeline struct {
	Name   string
	Events []event
}

// violations are all, the sort that callers saw included.
func (r *run) violations() []string {
	r.answers.mu.Lock()
	defer r.answers.mu.Unlock()
	r.check.mu.Lock()
	defer r.check.mu.Unlock()
	var b strings.Builder
	r.answers.Report(&b)
	all := slices.Concat(r.check.violations, r.answers.violations)
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "differs") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

func (r *run) figures() figures {
	f := figures{Seed: r.seed, Commit: r.commit, Machine: machine(), Minutes: r.minutes,
		Kinds: r.people.ledger.kinds(), Tally: r.tally, Happenings: len(r.happened),
		Warm: warmUp, Recovered: slices.Sorted(maps.Keys(r.probes())), Violations: r.violations()}
	for _, k := range f.Kinds {
		f.Promised, f.Kept, f.Late = f.Promised+k.Promised, f.Kept+k.Kept, f.Late+k.Late
	}
	r.check.doubtful.Range(func(any, any) bool { f.Doubtful++; return true })
	f.Hooks, f.HooksTwice = r.people.receiver.doubled()
	f.Classes, f.Timelines = r.classFigures()
	for _, h := range r.happened {
		f.Faults += len(h.Faults)
		f.Slowest = max(f.Slowest, h.Recovery)
	}
	byStatus := map[int]*answerFigure{}
	for a, n := range r.answers.counts {
		one := byStatus[a.Status]
		if one == nil {
			one = &answerFigure{Status: statusName(a.Status)}
			byStatus[a.Status] = one
		}
		if f.Answered += n; a.Broken {
			one.Broken += n
		} else {
			one.Quiet += n
		}
	}
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		f.Answers = append(f.Answers, *byStatus[status])
	}
	for _, before := range r.before {
		for _, after := range r.after {
			if after.Service == before.Service {
				f.Processes = append(f.Processes, processFigure{before, after, after.Since != before.Since})
			}
		}
	}
	return f
}

// classFigures sums up by class. A timeline is that of the class's first fault that came alone.
func (r *run) classFigures() (list []classFigures, lines []timeline) {
	for _, c := range classes {
		one := classFigures{Name: c.name, Says: c.says}
		refusals, targets, line := map[int]int{}, map[string]bool{}, timeline{}
		var took []time.Duration
		for _, h := range r.happened {
			for _, f := range h.Faults {
				if f.class != c.name {
					continue
				}
				one.Times++
				targets[f.target] = true
				took = append(took, h.Recovery)
				for status, n := range h.Refusals {
					refusals[status] += n
				}
				if len(h.Faults) == 1 && line.Name == "" {
					line = timeline{f.String(), h.Events}
				}
			}
		}
		if one.Times == 0 {
			continue
		}
		slices.Sort(took)
		one.Median, one.Longest = took[len(took)/2], took[len(took)-1]
		one.Targets, one.Refusals = strings.Join(slices.Sorted(maps.Keys(targets)), ", "), refused(refusals)
		list = append(list, one)
		if line.Name != "" {
			lines = append(lines, line)
		}
	}
	return list, lines
}

func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// machine says on what the run ran.
func machine() string {
	text, _ := os.ReadFile("/proc/meminfo")
	var kib int
	_, _ = fmt.Sscanf(string(text), "MemTotal: %d kB", &kib)
	load, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%d cores, %d GiB of memory, a load of %s at the end", runtime.NumCPU(), kib/(1<<20), first)
}
