package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Allowed increases, in addition to a share of the figure.
const (
	maxPart, maxMemory, maxCount = 0.05, 6 << 20, 10
	maxFaster, maxKept, maxBytes = 1.25, 100, 2 << 20
	// Engines rewrite their data at times, and reserve space.
	maxData            = 32 << 20
	maxMedian  float64 = 1.5
	moreMedian         = 5 * time.Millisecond
)

// The page shows figures that rose by more than this part of their value and this part of the allowed increase, and
// operations that became slower. It only counts the others.
const (
	shownRise           = 0.1
	shownMedian float64 = 1.25
)

type soakFigures struct {
	figures
	Patients, Samples int
	Window            float64 // length in minutes
	Floors            string
	Levels, Grown     []growth           // rising figures, and the data of all engines
	Operations        []operationFigures // operations that became slower by shownMedian
	Steady, Even      int                // numbers of levels and stored things that are not shown
	Measured          int                // number of operations
	Median, Most      operationFigures   // the slowest ones in the last window, by median and by p99
}

const dataOf = "bytes of the data" // prefix of the figure's name, before the engine

// growth is a figure's last value, or its means in the first and last window, or its increase in each. The
// page shows a figure that rises.
type growth struct {
	Name             string
	First, Last, End float64
	Rises            bool
}

func (g growth) rises(floor float64) bool { return g.Last > (1+shownRise)*g.First+shownRise*floor }

// Show formats one of the figures.
func (g growth) Show(value float64) string {
	if strings.Contains(g.Name, "memory") || strings.HasPrefix(g.Name, "bytes") {
		return fmt.Sprintf("%.1f MiB", value/(1<<20))
	}
	return fmt.Sprintf("%.0f", value)
}

type operationFigures struct {
	Name                                 string
	Count                                int
	P50First, P50Last, P99First, P99Last time.Duration
}

func (r *run) soakFigures() soakFigures {
	f := soakFigures{Patients: r.patients, Window: window * r.minutes,
		Floors: fmt.Sprintf("%d MiB (memory) or %d (goroutines, files)", maxMemory>>20, maxCount)}
	levels, grown, operations := r.levelFigures(), r.grown(), r.operations()
	for _, g := range levels {
		if g.Rises {
			f.Levels = append(f.Levels, g)
		}
	}
	for _, g := range grown {
		if g.Rises || strings.HasPrefix(g.Name, dataOf) {
			f.Grown = append(f.Grown, g)
		}
	}
	for _, o := range operations {
		if float64(o.P50Last) > shownMedian*float64(o.P50First) {
			f.Operations = append(f.Operations, o)
		}
		if o.P50Last > f.Median.P50Last {
			f.Median = o
		}
		if o.P99Last > f.Most.P99Last {
			f.Most = o
		}
	}
	f.Steady, f.Even, f.Measured = len(levels)-len(f.Levels), len(grown)-len(f.Grown), len(operations)
	for _, samples := range r.soak.levels[0] {
		f.Samples = max(f.Samples, len(samples))
	}
	f.figures = r.figures()
	return f
}

func (r *run) levelFigures() (list []growth) {
	for _, name := range slices.Sorted(maps.Keys(r.soak.levels[1])) {
		g := growth{Name: name, First: mean(r.soak.levels[0][name]), Last: mean(r.soak.levels[1][name])}
		floor := float64(maxCount)
		if strings.HasPrefix(name, "memory") {
			floor = maxMemory
		}
		g.Rises = g.rises(floor)
		if grew := g.Last - g.First; grew > maxPart*g.First+floor && !strings.HasPrefix(name, "engine") {
			r.check.violated("%s grew from %s to %s", name, g.Show(g.First), g.Show(g.Last))
		}
		list = append(list, g)
	}
	return list
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

func (r *run) grown() (list []growth) {
	at := r.soak.kept
	for _, name := range slices.Sorted(maps.Keys(at[2])) {
		g := growth{Name: name, First: at[1][name] - at[0][name], Last: at[2][name] - at[1][name], End: at[2][name]}
		floor := float64(maxKept)
		switch {
		case strings.HasPrefix(name, dataOf):
			floor = maxData
		case strings.HasPrefix(name, "bytes"):
			floor = maxBytes
		}
		g.Rises = g.rises(floor)
		if g.Last > maxFaster*max(0, g.First)+floor {
			r.check.violated("%s grew by %s in the last day, by %s in the one before", name, g.Show(g.Last), g.Show(g.First))
		}
		if g.First > 0 || g.Last > 0 {
			list = append(list, g)
		}
	}
	return list
}

// operations compares the responses 200 of both windows.
func (r *run) operations() (list []operationFigures) {
	r.answers.mu.Lock()
	defer r.answers.mu.Unlock()
	for name, all := range r.answers.took {
		var windows [2][]time.Duration
		for _, one := range all {
			switch {
			case one.at.Before(r.soak.first):
			case one.at.Before(r.soak.second):
				windows[0] = append(windows[0], one.took)
			default:
				windows[1] = append(windows[1], one.took)
			}
		}
		if len(windows[0]) == 0 || len(windows[1]) == 0 {
			continue
		}
		f := operationFigures{Name: name, Count: len(windows[0]) + len(windows[1])}
		f.P50First, f.P99First = percentiles(windows[0])
		f.P50Last, f.P99Last = percentiles(windows[1])
		if float64(f.P50Last) > maxMedian*float64(f.P50First)+float64(moreMedian) {
			r.check.violated("%s became slower: its median was %v and is %v", name, f.P50First, f.P50Last)
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b operationFigures) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name))
	})
	return list
}

func percentiles(all []time.Duration) (median, most time.Duration) {
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100]
}
