package main

import (
	"fmt"
	"maps"
	"net/http"
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

type figures struct {
	Seed                                  uint64
	Commit, Machine                       string
	Minutes                               float64
	Faults, Happenings                    int
	Tally                                 day.Tally
	Promised, Kept, Late                  int
	Hooks, HooksTwice, Answered, Doubtful int
	Broken, Quiet                         string // unsuccessful responses during faults, and at other times
	Slowest, Warm                         time.Duration
	Recovered, Violations                 []string
	Classes                               []classFigures
	Kinds                                 []kind
	Memory, Goroutines                    rise
}

type classFigures struct {
	Name, Says      string
	Times           int
	Median, Longest time.Duration
	Refusals        string
}

// rise is the service whose figure rose the most.
type rise struct {
	Service     string
	First, Last float64
}

func (r rise) most(service string, first, last float64) rise {
	if r.Service == "" || last-first > r.Last-r.First {
		return rise{service, first, last}
	}
	return r
}

// violations returns all violations, including those in responses to callers.
func (r *run) violations() []string {
	r.answers.mu.Lock()
	defer r.answers.mu.Unlock()
	r.check.mu.Lock()
	defer r.check.mu.Unlock()
	var b strings.Builder
	r.answers.Report(&b)
	all := slices.Concat(r.check.violations, r.answers.violations, r.answers.neverAccepted())
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
	f.Classes = r.classFigures()
	for _, h := range r.happened {
		f.Faults += len(h.Faults)
		f.Slowest = max(f.Slowest, h.Recovery)
	}
	refusals := map[bool]map[int]int{true: {}, false: {}} // by whether a fault was active, then by status
	for a, n := range r.answers.counts {
		if f.Answered += n; a.Status != http.StatusOK {
			refusals[a.Broken][a.Status] += n
		}
	}
	f.Broken, f.Quiet = refused(refusals[true]), refused(refusals[false])
	for _, before := range r.before {
		for _, after := range r.after {
			if after.Service == before.Service {
				f.Memory = f.Memory.most(after.Service, before.Memory, after.Memory)
				f.Goroutines = f.Goroutines.most(after.Service, before.Goroutines, after.Goroutines)
			}
		}
	}
	return f
}

func (r *run) classFigures() (list []classFigures) {
	for _, c := range classes {
		one := classFigures{Name: c.name, Says: c.says}
		refusals := map[int]int{}
		var took []time.Duration
		for _, h := range r.happened {
			for _, f := range h.Faults {
				if f.class != c.name {
					continue
				}
				one.Times++
				took = append(took, h.Recovery)
				for status, n := range h.Refusals {
					refusals[status] += n
				}
			}
		}
		if one.Times == 0 {
			continue
		}
		slices.Sort(took)
		one.Median, one.Longest, one.Refusals = took[len(took)/2], took[len(took)-1], refused(refusals)
		list = append(list, one)
	}
	return list
}

func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// machine describes the machine of the run.
func machine() string {
	text, _ := os.ReadFile("/proc/meminfo")
	var kib int
	_, _ = fmt.Sscanf(string(text), "MemTotal: %d kB", &kib)
	load, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%d cores, %d GiB of memory, a load average of %s at the end", runtime.NumCPU(), kib/(1<<20), first)
}
