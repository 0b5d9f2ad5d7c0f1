// Package cellcounter measures reads of a test's mappings per second through the whole stack.
package cellcounter

import (
	"bytes"
	"context"
	"fmt"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/bench/internal/stack"
	"github.com/labplatform/labplatform/scripts/bench/internal/testlab"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const (
	labID       = 900
	testID      = 900
	keys        = 14 // keys of a blood count with its immature cells
	connections = 16
)

// Run measures get_per_second.
func Run(ctx context.Context, r *report.Report) error {
	rounds, requests := 5, 20_000
	if r.Quick {
		rounds, requests = 3, 8_000
	}
	s, err := stack.Start(ctx, r, "CELL_COUNTER_LOG_LEVEL=WARN", "GATEWAY_LOG_LEVEL=WARN")
	if err != nil {
		return err
	}
	defer s.Remove()
	if err := fill(ctx, s); err != nil {
		return err
	}
	url := fmt.Sprintf("%s/api-v3/cell-counter-mappings/%d", s.Endpoints.Gateway, testID)
	whole := func(body []byte) bool { return bytes.Count(body, []byte(`"cell_id"`)) == keys }
	if _, err := load.Get(ctx, url, connections, requests/4, whole); err != nil { // warm-up
		return err
	}
	var perSecond []float64
	for range rounds {
		elapsed, err := load.Get(ctx, url, connections, requests, whole)
		if err != nil {
			return err
		}
		perSecond = append(perSecond, float64(requests)/elapsed.Seconds())
		r.Progress("%.0f reads a second", perSecond[len(perSecond)-1])
	}
	r.Higher("get_per_second", "1/s", perSecond, "", nil)
	r.Correct("whole_answers", rounds*requests)
	return nil
}

// fill seeds a laboratory with a session and mappings of a test.
func fill(ctx context.Context, s *sandbox.Sandbox) error {
	var formats, mappings []map[string]any
	for i := 1; i <= keys; i++ {
		formats = append(
			formats,
			map[string]any{"id": 900_000 + i, "testId_id": testID, "index": i, "order": i, "parameterName": fmt.Sprint("P", i)},
		)
		mappings = append(
			mappings,
			map[string]any{"id": 900_000 + i, "test_id": testID, "lab_id": labID, "key": string(rune('a' + i)), "cell_id": i,
				"report_format_index": i, "report_format_order": i, "created_at": 1, "updated_at": 1},
		)
	}
	lab, err := testlab.Open(s.Dir, s.Endpoints.Gateway)
	if err != nil {
		return err
	}
	defer lab.Close()
	return lab.Apply(ctx, map[string]any{
		"mysql": map[string]any{
			"labs":         []any{map[string]any{"id": labID, "labName": "Bench"}},
			"AllTests":     []any{map[string]any{"id": testID, "labId_id": labID, "testName": "CBC"}},
			"ReportFormat": formats, "cell_counter_mappings": mappings,
		},
		"sessions": []any{testlab.User("bench", labID)},
	})
}
