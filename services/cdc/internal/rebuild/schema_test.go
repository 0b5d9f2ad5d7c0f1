package rebuild_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/document/documenttest"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
	"github.com/labplatform/labplatform/services/cdc/internal/rebuild"
	"github.com/labplatform/labplatform/services/cdc/internal/store/enginetest"
)

// before returns a small platform whose live index has the previous schema, modified by mapping.
func before(t *testing.T, mapping func(properties map[string]any)) *enginetest.Platform {
	t.Helper()
	p := enginetest.New(t)
	if err := p.Index.Drop(t.Context(), p.Index.Alias+"_v1"); err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	text := documenttest.OlderIndex(200*time.Millisecond, map[string]bool{p.Index.Alias: true})
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatal(err)
	}
	mapping(body["mappings"].(map[string]any)["properties"].(map[string]any))
	if status := p.Index.Send(http.MethodPut, "/"+p.Index.Alias+"_v1", body, nil); status != http.StatusOK {
		t.Fatalf("create: %d", status)
	}
	p.Patients(7, 1, 30)
	p.Patients(8, 31, 60)
	p.Patients(1, 61, 90)
	p.Patients(9, 91, 100)
	p.Pump(p.Index.Live())
	if err := p.Index.Refresh(t.Context(), p.Index.Live()); err != nil {
		t.Fatal(err)
	}
	return p
}

func unchanged(map[string]any) {}

// find searches a laboratory by alias. It returns the number of patients found, or -1 if the search fails, and the HTTP
// status.
func find(p *enginetest.Platform, alias string, lab int64) (int, int) {
	var answer struct {
		Hits struct{ Total struct{ Value int } }
	}
	body := fmt.Sprintf(`{"query":{"bool":{"filter":[{"term":{"lab_id":%d}},{"term":{"is_deleted":false}}]}}}`, lab)
	status := p.Index.Send(http.MethodPost, fmt.Sprintf("/%s/_search?routing=%d", alias, lab), body, &answer)
	return answer.Hits.Total.Value, status
}

// Each of two writers changes 12 of its patients every 100 ms, and its own sink indexes them at once: 240 changes per
// second, or as many as the machine allows.
const (
	batch      = 12
	batchEvery = 100 * time.Millisecond
)

// batches changes either the patients with even numbers or those with odd ones, several at once like change capture.
func batches(ctx context.Context, p *enginetest.Platform, half int64) (changes int, err error) {
	random := rand.New(rand.NewPCG(uint64(half), 7))
	sink := syncer(p)
	ticker := time.NewTicker(batchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return changes, nil
		case <-ticker.C:
		}
		changed := map[int64]bool{}
		for len(changed) < batch {
			changed[101+2*random.Int64N(1500)+half] = true
		}
		if err := changeAll(p, sink, random, slices.Sorted(maps.Keys(changed))); err != nil {
			return changes, err
		}
		changes += batch
	}
}

// TestASchemaChangesUnderConstantWritesAndNoSearchFails covers a complete schema change: the older index is live, read
// and written, while the newer one is created beside it.
func TestASchemaChangesUnderConstantWritesAndNoSearchFails(t *testing.T) {
	t.Parallel()
	p := before(t, unchanged)
	p.Patients(7, 101, 1200)
	p.Patients(8, 1201, 2300)
	p.Patients(1, 2301, 3100)
	p.Pump(p.Index.Live())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var streamed, searches, failed atomic.Int64
	for half := range int64(2) {
		all.Go(func() {
			n, err := batches(ctx, p, half)
			if err != nil {
				t.Error(err)
			}
			streamed.Add(int64(n))
		})
	}
	all.Go(func() { // searches a laboratory whose patients do not change
		for ctx.Err() == nil {
			searches.Add(1)
			if found, status := find(p, p.Index.Alias, 9); status != http.StatusOK || found != 10 {
				failed.Add(1)
			}
			// The alias of a schema either finds all patients or does not exist.
			if found, status := find(p, userindex.Reader(p.Index.Alias, document.Schema), 9); status != http.StatusNotFound && found != 10 {
				failed.Add(1)
			}
		}
	})
	begin := time.Now()
	var out bytes.Buffer
	d := deps(p, &out)
	d.Wait = rebuild.DefaultWait
	err := rebuild.New(d).Run(t.Context())
	took := time.Since(begin)
	stop()
	all.Wait()
	if err != nil {
		t.Fatalf("got %v\n%s", err, &out)
	}
	if failed.Load() > 0 || streamed.Load() == 0 || live(t, p) != "v2" {
		t.Errorf("%d of %d searches fail, %d changes, live is %s", failed.Load(), searches.Load(), streamed.Load(), live(t, p))
	}
	t.Logf("%d changes (%.0f a second) and %d searches meanwhile\n%s", streamed.Load(), float64(streamed.Load())/took.Seconds(), searches.Load(), &out)
	if found, status := find(p, userindex.Reader(p.Index.Alias, document.Schema), 9); status != http.StatusOK || found != 10 {
		t.Errorf("searches of the present schema find %d, status %d", found, status)
	}
	agrees(t, p)
	// Rollback: the index of the older schema gets documents of that schema again.
	p.Exec("UPDATE userDetails SET fullName = 'Changed since' WHERE id BETWEEN 91 AND 95")
	p.Recompute(91, 92, 93, 94, 95)
	p.Pump(p.Index.Live())
	if err := rebuild.New(deps(p, &out)).Rollback(t.Context()); err != nil || live(t, p) != "v1" {
		t.Fatalf("live is %s, error %v\n%s", live(t, p), err, &out)
	}
	agrees(t, p)
}

// lenient changes a mapping to accept values that the current mapping rejects.
func lenient(properties map[string]any) {
	for _, name := range []string{"sample_ids", userindex.Identifiers} {
		properties[name] = map[string]any{"type": "keyword", "ignore_above": 256}
	}
}

func TestARebuildThatWouldLosePatientsDoesNotSwap(t *testing.T) {
	t.Parallel()
	p := before(t, lenient)
	p.Exec("UPDATE user_meta SET sample_ids = JSON_ARRAY(REPEAT('S', 40000)), rev = rev + 1 WHERE user_id IN (9, 95)")
	p.Pump(p.Index.Live())
	var out bytes.Buffer
	err := rebuild.New(deps(p, &out)).Run(t.Context())
	if !errors.Is(err, rebuild.ErrLoses) || live(t, p) != "v1" {
		t.Fatalf("live is %s, error %v\n%s", live(t, p), err, &out)
	}
	for _, want := range []string{"laboratory 7, patient 9: ", "laboratory 9, patient 95: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in %s", want, &out)
		}
	}
	p.Exec("UPDATE user_meta SET sample_ids = JSON_ARRAY('S1'), rev = rev + 1 WHERE user_id IN (9, 95)") // corrected
	p.Pump(p.Index.Live())
	if err := rebuild.New(deps(p, &out)).Run(t.Context()); err != nil || live(t, p) != "v2" {
		t.Errorf("live is %s, error %v\n%s", live(t, p), err, &out)
	}
	agrees(t, p)
}

// merging calls during before it merges segments.
type merging struct {
	rebuild.Index
	during func()
}

func (m merging) Compact(ctx context.Context, target string) error {
	m.during()
	return m.Index.Compact(ctx, target)
}

// TestAChangeThatTheNewIndexRefusesDuringTheMergeIsNotLost: the merge of a large index takes up to an hour. A change of
// that time which only the live index accepts must not vanish with the swap.
func TestAChangeThatTheNewIndexRefusesDuringTheMergeIsNotLost(t *testing.T) {
	t.Parallel()
	p := before(t, func(properties map[string]any) {
		for _, field := range properties {
			if f := field.(map[string]any); f["type"] == "keyword" {
				f["ignore_above"] = 256
			}
		}
	})
	d := deps(p, io.Discard)
	d.Index = merging{Index: p.Index, during: func() {
		p.Exec("UPDATE user_meta SET sample_ids = JSON_ARRAY(REPEAT('S', 40000)), rev = rev + 1 WHERE user_id = 9")
		rows, err := p.Rows.RowsByID(t.Context(), []int64{9})
		if err != nil {
			t.Fatal(err)
		}
		results, err := syncer(p).Apply(t.Context(), []change.Record{event(change.Update, rows[0])})
		if err != nil || results[0].Kind != outcome.Applied {
			t.Fatalf("results %v, error %v", results, err)
		}
	}}
	if err := rebuild.New(d).Run(t.Context()); !errors.Is(err, rebuild.ErrLoses) || live(t, p) != "v1" {
		t.Errorf("live is %s, error %v; want the old one and %v", live(t, p), err, rebuild.ErrLoses)
	}
}

func TestABrokenNextIndexStopsNobodyAndIsNeverSearched(t *testing.T) {
	t.Parallel()
	p := before(t, unchanged)
	next, _, err := p.Index.CreateNext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Index.Send(http.MethodPut, "/"+next+"/_settings", `{"index.blocks.write":true}`, nil)
	p.Exec("UPDATE userDetails SET fullName = 'Changed while the next index is broken' WHERE id = 91")
	p.Recompute(91)
	rows, err := p.Rows.RowsByID(t.Context(), []int64{91})
	if err != nil {
		t.Fatal(err)
	}
	results, err := syncer(p).Apply(t.Context(), []change.Record{event(change.Update, rows[0])})
	if err != nil || results[0].Kind != outcome.Applied {
		t.Fatalf("results %v, error %v", results, err)
	}
	agrees(t, p)
	if err := p.Index.Swap(t.Context()); err == nil {
		t.Error("the broken index goes live")
	}
	if err := rebuild.New(deps(p, io.Discard)).Run(t.Context()); err == nil || live(t, p) != "v1" {
		t.Errorf("a rebuild before it is fixed: live is %s, error %v", live(t, p), err)
	}
	p.Index.Send(http.MethodPut, "/"+next+"/_settings", `{"index.blocks.write":false}`, nil)
	if err := rebuild.New(deps(p, io.Discard)).Run(t.Context()); err != nil || live(t, p) != "v2" {
		t.Errorf("a rebuild behind it: live is %s, error %v", live(t, p), err)
	}
	agrees(t, p)
}

func TestAnUnfinishedIndexOfAnOlderSchemaIsNotFilled(t *testing.T) {
	t.Parallel()
	p := before(t, unchanged)
	body := documenttest.OlderIndex(time.Second, map[string]bool{p.Index.Next(): true})
	p.Index.Send(http.MethodPut, "/"+p.Index.Alias+"_v2", string(body), nil)
	err := rebuild.New(deps(p, io.Discard)).Run(t.Context())
	if fault := outcome.FaultOf(err); err == nil || !fault.Operator || !strings.Contains(fault.Advice, "--discard") {
		t.Errorf("error %v", err)
	}
}
