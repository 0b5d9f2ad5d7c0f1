package report_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

func TestAlternateTreatsBothSidesAlike(t *testing.T) {
	t.Parallel()
	var order string
	side := func(name string) func() (float64, error) {
		return func() (float64, error) { order += name; return float64(len(order)), nil }
	}
	ours, peers, err := report.Alternate(4, side("A"), side("B"))
	if err != nil || order != "ABBAABBA" || len(ours) != 4 || len(peers) != 4 {
		t.Fatalf("order %s, %d and %d runs, error %v", order, len(ours), len(peers), err)
	}
}

func TestReportHasTheContractsShape(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x", "r.json")
	r := report.New("labjson", true, io.Discard)
	r.Lower("encode_ns", "ns", []float64{10, 30, 20}, "protojson", []float64{40, 60})
	r.Higher("jobs_per_second", "1/s", []float64{100}, "asynq", []float64{20})
	r.Lower("idle", "MiB", []float64{30}, "", nil)
	r.Higher("searches_per_second", "1/s", []float64{200}, "starved", []float64{0})
	r.Correct("round_trips", 5)
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	results, _ := got["results"].([]any)
	want := []any{
		map[string]any{"metric": "encode_ns", "unit": "ns", "ours": 20.0, "peer": 50.0, "peer_name": "protojson", "ratio": 2.5, "runs": []any{10.0, 30.0, 20.0}, "peer_runs": []any{40.0, 60.0}},
		map[string]any{"metric": "jobs_per_second", "unit": "1/s", "ours": 100.0, "peer": 20.0, "peer_name": "asynq", "ratio": 5.0, "runs": []any{100.0}, "peer_runs": []any{20.0}},
		map[string]any{"metric": "idle", "unit": "MiB", "ours": 30.0, "runs": []any{30.0}},
		map[string]any{"metric": "searches_per_second", "unit": "1/s", "ours": 200.0, "peer": 0.0, "peer_name": "starved", "runs": []any{200.0}, "peer_runs": []any{0.0}},
	}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Fatal(diff)
	}
	for _, key := range []string{"name", "quick", "commit", "machine", "command", "started_at", "seconds", "correctness"} {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
}
