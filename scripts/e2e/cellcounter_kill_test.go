package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// rotated returns a request body that assigns the keys a, b and c to three parameters, rotated by i places.
func rotated(i int) string {
	var mappings []string
	for n := range 3 {
		mappings = append(mappings, fmt.Sprintf(`{"key":%q,"cell_id":%d,"report_format_index":%d,"report_format_order":%[3]d}`,
			"abc"[(n+i)%3:(n+i)%3+1], n+1, n+1))
	}
	return `{"lab_id":12,"mappings":[` + strings.Join(mappings, ",") + "]}"
}

// turn returns by how many places the keys of mappings are rotated, or -1 if no single write has stored them.
func turn(mappings []any) int {
	keys := [3]string{}
	for _, row := range mappings {
		fields, _ := row.(map[string]any)
		index, _ := fields["report_format_index"].(float64)
		if index < 1 || index > 3 {
			return -1
		}
		keys[int(index)-1], _ = fields["key"].(string)
	}
	return strings.Index("abcab", strings.Join(keys[:], ""))
}

// The process is killed three times during writes that rotate the keys of a test's parameters. No write may be stored
// in part, and no acknowledged one may be lost.
func TestCellCounterSurvivesKill(t *testing.T) {
	const test, writes = 77003, 60
	seedTest(t, test)
	path := fmt.Sprint(mappingsPath, test)
	for round := range 3 {
		var next, done atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for i := next.Add(1); i <= writes; i = next.Add(1) {
					a, _ := send(t.Context(), stack.Endpoints.Gateway, labSession, "POST", path, rotated(int(i)))
					if a.status != http.StatusOK {
						continue
					}
					if mappings, _ := a.json(t)["mappings"].([]any); len(mappings) != 3 || turn(mappings) < 0 {
						t.Errorf("answered %s", a.body)
					}
					if done.Add(1) == writes/4 {
						if err := stack.Kill("cellcounter"); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
		restart(t, "cellcounter")
		await.True(t, "the gateway's connection to the service", func() bool {
			a, err := send(t.Context(), stack.Endpoints.Gateway, labSession, "GET", path, "")
			return err == nil && a.status == http.StatusOK
		})
		if rows := mappingsOf(t, labSession, test); len(rows) != 3 || turn(rows) < 0 {
			t.Errorf("round %d: %v", round, rows)
		}
		if done.Load() < writes/4 || done.Load() == writes {
			t.Errorf("round %d: %d of %d writes were answered", round, done.Load(), writes)
		}
		// Without concurrent writes, the last response is the stored state.
		if got := call(t, labSession, "POST", path, rotated(round)); got.status != http.StatusOK {
			t.Errorf("round %d: %d %s", round, got.status, got.body)
		}
		if rows := mappingsOf(t, labSession, test); turn(rows) != round {
			t.Errorf("round %d: %v", round, rows)
		}
	}
}
