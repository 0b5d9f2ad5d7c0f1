package callout

import (
	"fmt"
	"hash/maphash"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// run applies a step to a copy of the world. ok is false if the step does not apply.
func (w *world) run(s step, decide rules) (next *world, wrong string, ok bool) {
	next = w.clone()
	next.now += time.Second
	e, ok := s.do(next)
	if !ok {
		return nil, "", false
	}
	if e.Named {
		next.settleBlank()
	}
	d := decide(next.facts(), e, next.at())
	if d.Refused != Accepted {
		return nil, "", false
	}
	if wrong := next.apply(&d, e); wrong != "" {
		return next, wrong, true
	}
	if wrong := next.violated(); wrong != "" {
		return next, wrong, true
	}
	again := decide(next.facts(), Event{}, next.at())
	if len(again.Statements)+len(again.Messages)+len(again.Logs) > 0 || again.Status != next.status || again.WaitChange != WaitUnchanged {
		return next, fmt.Sprintf("8: a second decision changes something: %d statements, %d messages, %s, wait %d",
			len(again.Statements), len(again.Messages), again.Status, again.WaitChange), true
	}
	return next, "", true
}

type explored struct {
	histories, states int
	story             []string // the steps that lead to the first violation
	wrong             string
}

// node is a world and the steps that led to it.
type node struct {
	w     *world
	start *world
	steps []byte
}

// found is a node of the next level. wrong is the violated invariant, or empty.
type found struct {
	node

	hash  uint64
	wrong string
}

// level is one level of a breadth-first exploration: all nodes reached by the same number of steps.
type level struct {
	frontier []node
	steps    []step
	decide   rules
	seed     maphash.Seed
	seen     map[uint64]bool // hashes of the worlds reached so far
	last     bool            // this is the last level
}

// expand applies each step to the nodes first, first+every, …, and releases these nodes. It returns the new worlds, and
// stops at a violation.
func (l *level) expand(first, every int) (list []found, histories int) {
	own := map[uint64]bool{}
	for i := first; i < len(l.frontier); i += every {
		from := l.frontier[i]
		l.frontier[i].w = nil // frees memory: the next level has ten times as many nodes
		for s := range l.steps {
			next, wrong, ok := from.w.run(l.steps[s], l.decide)
			if !ok {
				continue
			}
			histories++
			to := found{node: node{w: next, start: from.start}, wrong: wrong}
			if wrong == "" {
				if l.last {
					continue
				}
				to.hash = next.hash(l.seed)
				if l.seen[to.hash] || own[to.hash] {
					continue
				}
				own[to.hash] = true
			}
			to.steps = append(slices.Clone(from.steps), byte(s))
			list = append(list, to)
			if wrong != "" {
				return list, histories
			}
		}
	}
	return list, histories
}

// explore runs all histories up to a depth. The search is breadth first, so the first counterexample is one of the
// shortest.
func explore(start []*world, depth int, decide rules) (x explored) {
	l := level{steps: alphabet(), decide: decide, seed: maphash.MakeSeed(), seen: map[uint64]bool{}}
	for _, w := range start {
		l.frontier = append(l.frontier, node{w: w, start: w})
	}
	for n := range depth {
		l.last = n == depth-1
		parts, counts := make([][]found, runtime.GOMAXPROCS(0)), make([]int, runtime.GOMAXPROCS(0))
		var all sync.WaitGroup
		for part := range parts {
			all.Go(func() { parts[part], counts[part] = l.expand(part, len(parts)) })
		}
		all.Wait()
		l.frontier = nil
		for part := range parts {
			x.histories += counts[part]
			for _, to := range parts[part] {
				if to.wrong != "" {
					x.wrong, x.story = to.wrong, tell(to.start, to.steps, l.steps, decide)
					return x
				}
				if !l.seen[to.hash] {
					l.seen[to.hash] = true
					l.frontier = append(l.frontier, to.node)
				}
			}
		}
		x.states = len(l.seen)
	}
	return x
}

// tell replays a history and returns one line per event, with the state and the statements.
func tell(w *world, history []byte, steps []step, decide rules) (lines []string) {
	for _, s := range history {
		before := len(w.ledger)
		next, _, _ := w.run(steps[s], decide)
		line := steps[s].name + " -> " + next.status.String()
		for _, said := range next.ledger[before:] {
			line += "; " + string(said.Kind)
			for i := range said.Parameters {
				line += " " + said.Parameters[i].RawValue
			}
			if said.Audience.OrgID != 0 {
				line += fmt.Sprintf(" to clinic %d", said.Audience.OrgID)
			}
		}
		lines = append(lines, line)
		w = next
	}
	return lines
}

// exploreDepth returns the number of events: EXPLORE_DEPTH if set, otherwise usual. It is one less with -short and
// under the race detector, which makes the exploration ten times slower.
func exploreDepth(t *testing.T, usual int) int {
	t.Helper()
	if s := os.Getenv("EXPLORE_DEPTH"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("EXPLORE_DEPTH is %q, want a number", s)
		}
		return n
	}
	if raced() || testing.Short() {
		return usual - 1
	}
	return usual
}

// raced reports whether the race detector is enabled.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// collectLess makes the garbage collector run less often until the test ends. This halves the time of an exploration.
func collectLess(t *testing.T) {
	t.Helper()
	percent, limit := debug.SetGCPercent(400), debug.SetMemoryLimit(4<<30)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}

// TestEveryShortHistoryKeepsThePromises runs all short histories of events and checks the invariants after each event:
// every critical result has a notice, and no audience is misinformed.
func TestEveryShortHistoryKeepsThePromises(t *testing.T) {
	collectLess(t)
	began := time.Now()
	x := explore(startWorlds(), exploreDepth(t, 4), Decide)
	t.Logf("%d histories, %d distinct states, %v", x.histories, x.states, time.Since(began).Round(time.Millisecond))
	if x.wrong != "" {
		t.Fatalf("got %s\n%s", x.wrong, strings.Join(x.story, "\n"))
	}
}

// TestHistoriesThatFailedOnce repeats histories that once violated an invariant and are longer than the explored ones.
func TestHistoriesThatFailedOnce(t *testing.T) {
	plain, policy := startWorlds()[0], startWorlds()[1]
	type history struct {
		start  *world
		events []string
	}
	for name, h := range map[string]history{
		"removed, called, and removed again": {plain, []string{
			`potassium is "7.9"`, `potassium is "removed"`, "called", `potassium is "7.1"`, `potassium is "removed"`,
		}},
		"the same value returns and is removed again": {plain, []string{
			`potassium is "7.9"`, `potassium is "removed"`, "called", `potassium is "7.9"`, `potassium is "removed"`,
		}},
		"the correction is made while the type is off": {plain, []string{
			`potassium is "7.9"`, "called", "the type is switched", `potassium is "5"`, "the type is switched",
		}},
		"the type is on again while the value is blank, and the value returns": {plain, []string{
			"the type is switched", `potassium is "7.9"`, "potassium is blank, and a loop checks at once", "the type is switched",
			`potassium is "7.9"`,
		}},
		"the bill returns to a clinic whose notice was not sent": {plain, []string{
			"the type is switched", `potassium is "2.1"`, "the bill gets another clinic and doctor", "the type is switched",
			"the bill gets another clinic and doctor",
		}},
		"the bill returns to a clinic whose notice was not sent, while notices are delayed": {plain, []string{
			"the type is switched", `potassium is "2.1"`, "notices are delayed, or go out", "the bill gets another clinic and doctor",
			"the bill gets another clinic and doctor", "the type is switched",
		}},
		"the correction of the second notice, which was read, is made while the type is off": {plain, []string{
			`sodium is "118"`, "the bill gets another clinic and doctor", "the type is switched", "the newest notice is read",
			"moved to another patient, or back", "the type is switched",
		}},
		"critical again after the limits changed, and the first notice was not sent": {policy, []string{
			`potassium is "7.1"`, "another program sets the state to normal, or to waiting", "the limits change", `sodium is "118"`,
			`potassium is "7.9"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.start
			for _, event := range h.events {
				i := slices.IndexFunc(alphabet(), func(s step) bool { return s.name == event })
				if i < 0 {
					t.Fatalf("the alphabet has no event %q", event)
				}
				next, wrong, ok := w.run(alphabet()[i], Decide)
				if !ok || wrong != "" {
					t.Fatalf("%s: applies %v, %s", event, ok, wrong)
				}
				w = next
			}
		})
	}
}
