package cdc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
)

const (
	writesPerSecond = 200
	watchOneOf      = 10 // one write in so many is watched; the others only load the pipeline
	writers         = 16
	lookEvery       = 20 * time.Millisecond // a search costs the machine more than two writes
	// The generator's numbers: patient i is in laboratory i modulo laboratories.
	firstPatient    = 1_000_001
	firstLaboratory = 1001
	giveUp          = 30 * time.Second
)

// freshness measures the time from the end of the committing statement until a search with the laboratory's route finds
// the row, through both connectors.
func (b *bench) freshness(ctx context.Context) error {
	if _, err := b.write(ctx, b.sizes.warm, "Warm"); err != nil {
		return err
	}
	var p50, p99 []float64
	watched := 0
	for round := range b.sizes.rounds {
		taken, err := b.write(ctx, b.sizes.span, fmt.Sprintf("Fresh%c", 'A'+round))
		if err != nil {
			return err
		}
		watched += len(taken)
		p50, p99 = append(p50, load.Quantile(taken, 0.5)), append(p99, load.Quantile(taken, 0.99))
	}
	b.report.Correct("rows_watched", watched)
	b.report.Lower("row_to_searchable_p50_ms", "ms", p50, "", nil)
	b.report.Lower("row_to_searchable_p99_ms", "ms", p99, "", nil)
	return nil
}

// write renames patients at a steady rate for span and returns, for each watched patient, the time from the commit
// until a search found the change.
func (b *bench) write(ctx context.Context, span time.Duration, word string) ([]time.Duration, error) {
	total := int(span.Seconds() * writesPerSecond)
	w := &watch{index: b.index, word: strings.ToLower(word), want: map[int64]change{}}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var workers, watcher errgroup.Group
	workers.SetLimit(writers)
	watcher.Go(func() error { return w.run(watching, total/watchOneOf) })
	start := time.Now()
	for i := range total {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / writesPerSecond)))
		workers.Go(func() error { return b.rename(ctx, w, i, word) })
	}
	if err := workers.Wait(); err != nil {
		stop()
		return nil, errors.Join(err, watcher.Wait())
	}
	err := watcher.Wait()
	return w.taken, err
}

// rename changes one patient. All watched ones are in the first laboratory.
func (b *bench) rename(ctx context.Context, w *watch, i int, word string) error {
	watched := i%watchOneOf == 0
	patient := i*laboratories/watchOneOf + 1
	if watched {
		patient = i * laboratories / watchOneOf
	}
	id, name := int64(firstPatient+patient%b.sizes.patients), fmt.Sprintf("%s Patient %d", word, i)
	if _, err := b.db.ExecContext(ctx, "UPDATE userDetails SET fullName = ? WHERE id = ?", name, id); err != nil {
		return err
	}
	if watched {
		w.add(id, change{name, time.Now()})
	}
	return nil
}

type change struct {
	name      string
	committed time.Time
}

// watch searches for all rows that are not found yet, one search at a time.
type watch struct {
	index *index
	word  string          // a word that only this run's names have
	taken []time.Duration // may be read once run has returned

	mu   sync.Mutex
	want map[int64]change // guarded by mu
}

func (w *watch) add(id int64, c change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want[id] = c
}

// run searches until it has found total rows.
func (w *watch) run(ctx context.Context, total int) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for len(w.taken) < total {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d rows were found", len(w.taken), total)
		case <-tick.C:
		}
		if err := w.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) look(ctx context.Context) error {
	ids, err := w.waiting()
	if err != nil || len(ids) == 0 {
		return err
	}
	var answer hits
	body := fmt.Sprintf(
		`{"size":%d,"_source":["user_id","full_name"],"query":{"bool":{"filter":[{"terms":{"user_id":[%s]}},{"term":{"full_name":%q}}]}}}`,
		len(ids),
		strings.Join(ids, ","),
		w.word,
	)
	if err := w.index.do(
		ctx,
		http.MethodPost,
		fmt.Sprintf("%s/_search?routing=%d", alias, firstLaboratory),
		[]byte(body),
		&answer,
	); err != nil {
		return err
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, hit := range answer.Hits.Hits {
		id, ok := hit.Source["user_id"].(float64)
		if c := w.want[int64(id)]; ok && hit.Source["full_name"] == c.name {
			w.taken = append(w.taken, now.Sub(c.committed))
			delete(w.want, int64(id))
		}
	}
	return nil
}

func (w *watch) waiting() ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]string, 0, len(w.want))
	for id, c := range w.want {
		if time.Since(c.committed) > giveUp {
			return nil, fmt.Errorf("patient %d is not found %v after the commit", id, giveUp)
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	return ids, nil
}
