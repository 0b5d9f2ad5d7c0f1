// Package report writes the result of a benchmark: a table, row by row while it runs, and a JSON file.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Result is one metric. Ours and Peer are medians; Ratio is how many times better Ours is.
type Result struct {
	Metric   string    `json:"metric"`
	Unit     string    `json:"unit"`
	Ours     float64   `json:"ours"`
	Peer     *float64  `json:"peer,omitempty"`
	PeerName string    `json:"peer_name,omitempty"`
	Ratio    *float64  `json:"ratio,omitempty"`
	Runs     []float64 `json:"runs"`
	PeerRuns []float64 `json:"peer_runs,omitempty"`
}

// Machine describes the machine of the measurement.
type Machine struct {
	CPUs       int     `json:"cpus"`
	MemoryGiB  float64 `json:"memory_gib"`
	LoadBefore float64 `json:"load_before"`
}

// Report collects the results of one benchmark.
type Report struct {
	Name        string         `json:"name"`
	Quick       bool           `json:"quick"`
	Commit      string         `json:"commit"`
	Machine     Machine        `json:"machine"`
	Command     string         `json:"command"`
	StartedAt   time.Time      `json:"started_at"`
	Seconds     float64        `json:"seconds"`
	Results     []Result       `json:"results"`
	Correctness map[string]any `json:"correctness"`

	out io.Writer
}

// New starts a report that prints to out.
func New(name string, quick bool, out io.Writer) *Report {
	r := &Report{
		Name: name, Quick: quick, Commit: commit(), StartedAt: time.Now().UTC(), Correctness: map[string]any{}, out: out,
		Machine: Machine{CPUs: runtime.NumCPU(), MemoryGiB: memoryGiB(), LoadBefore: load()},
		Command: "make bench NAME=" + name,
	}
	if quick {
		r.Command += " QUICK=1"
	}
	fmt.Fprintf(out, "== bench %s (commit %s, %d cpus, load %.2f)\n", name, r.Commit, r.Machine.CPUs, r.Machine.LoadBefore)
	return r
}

// Progress prints a line of the table.
func (r *Report) Progress(format string, args ...any) {
	fmt.Fprintf(r.out, "   %s\n", fmt.Sprintf(format, args...))
}

// Correct records a fact of the correctness gate.
func (r *Report) Correct(name string, value any) { r.Correctness[name] = value }

// Lower adds a metric for which less is better. peers may be nil.
func (r *Report) Lower(metric, unit string, runs []float64, peerName string, peers []float64) {
	r.add(metric, unit, runs, peerName, peers, func(ours, peer float64) float64 { return peer / ours })
}

// Higher adds a metric for which more is better. peers may be nil.
func (r *Report) Higher(metric, unit string, runs []float64, peerName string, peers []float64) {
	r.add(metric, unit, runs, peerName, peers, func(ours, peer float64) float64 { return ours / peer })
}

func (r *Report) add(
	metric, unit string,
	runs []float64,
	peerName string,
	peers []float64,
	ratio func(ours, peer float64) float64,
) {
	result := Result{Metric: metric, Unit: unit, Ours: Median(runs), Runs: runs}
	line := fmt.Sprintf("%-34s %12.2f %-4s", metric, result.Ours, unit)
	if len(peers) > 0 {
		peer := Median(peers)
		result.Peer, result.PeerName, result.PeerRuns = &peer, peerName, peers
		line += fmt.Sprintf("   %s %.2f %s", peerName, peer, unit)
		if times := ratio(result.Ours, peer); !math.IsInf(times, 0) && !math.IsNaN(times) { // one of them may be zero
			result.Ratio = &times
			line += fmt.Sprintf(", ratio %.2f", times)
		}
	}
	r.Results = append(r.Results, result)
	r.Progress("%s", line)
}

// Write stores the report at path.
func (r *Report) Write(path string) error {
	r.Seconds = time.Since(r.StartedAt).Seconds()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	fmt.Fprintf(r.out, "   written to %s after %.0f s\n", path, r.Seconds)
	return nil
}

// Median returns the middle of values, 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Alternate runs ours and peer in turn, A B B A, until each has run rounds times (an even number is best), so that a
// machine whose speed changes meanwhile affects both equally.
func Alternate(rounds int, ours, peer func() (float64, error)) (oursRuns, peerRuns []float64, err error) {
	for i := range 2 * rounds {
		side, runs := ours, &oursRuns
		if i%4 == 1 || i%4 == 2 {
			side, runs = peer, &peerRuns
		}
		value, err := side()
		if err != nil {
			return nil, nil, err
		}
		*runs = append(*runs, value)
	}
	return oursRuns, peerRuns, nil
}

func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

func memoryGiB() float64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseFloat(fields[1], 64)
			return kib / (1 << 20)
		}
	}
	return 0
}

func load() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	value, _ := strconv.ParseFloat(first, 64)
	return value
}
