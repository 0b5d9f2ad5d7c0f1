package capture

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

const seed = 20261121

// TestTheIndexEqualsTheTablesWhateverFails is the main test of change capture. Under a random workload every part fails
// in turn. Afterwards the documents of every laboratory must equal its tables, no previous laboratory may see a
// patient, and every consumed record must have one outcome.
func TestTheIndexEqualsTheTablesWhateverFails(t *testing.T) {
	operations := int64(20_000)
	if long() {
		operations = 200_000
	}
	db := database(t)
	f := newField(t, program(), seed)
	f.index.faulty.Store(true)
	work := &workload{db: db, seed: seed}
	var disturbed sync.WaitGroup
	over := make(chan struct{})
	disturbed.Go(func() {
		defer close(over)
		f.run(2 * time.Second)
		for work.done.Load() < operations {
			f.run(2 * time.Second)
		}
	})
	disturbed.Go(func() { interfere(t, work, over) })
	work.run(t, func(done int64) bool {
		select {
		case <-over:
			return done < operations
		default:
			return true
		}
	})
	disturbed.Wait()
	c := &f.index.counts
	t.Logf("bulk requests: %d clean, %d partly refused, %d refused, %d unavailable, %d applied with the answer lost, %d slow", c.clean.Load(),
		c.partial.Load(), c.refused.Load(), c.unavailable.Load(), c.lost.Load(), c.slow.Load())
	f.index.faulty.Store(false)
	converge(t, db)
	f.account(t)
	if out, err := verb(t, "reconcile"); err != nil || !strings.Contains(out, " 0 differences") {
		t.Errorf("reconcile: %v\n%s", err, out)
	}
}

// interfere changes the structure of a captured table and requests snapshots every ten seconds, until over is closed.
func interfere(t *testing.T, w *workload, over <-chan struct{}) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if n%3 == 0 {
			w.alterTable(t)
		}
		table := []string{"userDetails", "user_meta", "billing"}[n%3]
		if _, err := w.db.Exec("INSERT INTO cdc_signal (id, type, data) VALUES (?, 'execute-snapshot', ?)", fmt.Sprintf("oracle-%d", n),
			fmt.Sprintf(`{"data-collections":["lab.%s"],"type":"incremental"}`, table)); err != nil && !passes(err) {
			t.Errorf("signal: %v", err)
		}
	}
}

// account waits until no record is waiting. It expects no dead letters, and an outcome for every record that the
// running consumers have read.
func (f *field) account(t *testing.T) {
	t.Helper()
	await.Nil(t, "all records being done", func() error {
		lag, err := uncommitted()
		if err != nil {
			return err
		}
		if lag != 0 {
			return fmt.Errorf("%d records wait", lag)
		}
		return nil
	})
	for _, c := range f.consumers {
		await.Nil(t, c.name+": an end for every record taken up", func() error {
			consumed, returned, outcomes, dead := c.data(t, "cdc_messages_consumed_total"), c.data(t, "cdc_messages_returned_total"),
				c.data(t, "cdc_outcomes_total"), c.data(t, "cdc_messages_dlq_total")
			account := fmt.Sprintf("%.0f consumed, %.0f given back, %.0f dead: %s", sum(consumed), sum(returned), sum(dead), byOutcome(outcomes))
			if sum(dead) != 0 || sum(consumed) != sum(outcomes)+sum(returned) {
				return errors.New(account)
			}
			t.Logf("%s: %s", c.name, account)
			return nil
		})
	}
}

// data returns the values of a metric without those of heartbeats, which never stop.
func (c *consumer) data(t *testing.T, name string) map[string]float64 {
	t.Helper()
	values, err := c.metrics(name)
	if err != nil {
		t.Fatal(err)
	}
	for labels := range values {
		if strings.Contains(labels, `topic="cdc_heartbeat"`) {
			delete(values, labels)
		}
	}
	return values
}

func byOutcome(values map[string]float64) string {
	kinds := map[string]float64{}
	for labels, v := range values {
		_, kind, _ := strings.Cut(labels, `outcome="`)
		kind, _, _ = strings.Cut(kind, `"`)
		kinds[kind] += v
	}
	return fmt.Sprint(kinds)
}

// TestARowChangedBySQLReachesTheIndex checks that the index gets a row that was changed by SQL. It reads the document
// by its id and routing.
func TestARowChangedBySQLReachesTheIndex(t *testing.T) {
	db := database(t)
	const id = 900_001
	for n := range 5 {
		name := fmt.Sprintf("Asha Rao %d", n)
		if _, err := db.Exec("INSERT INTO userDetails (id, labId_id, fullName) VALUES (?, 12, ?) ON DUPLICATE KEY UPDATE fullName=VALUES(fullName)", id, name); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		await.Nil(t, "the document", func() error {
			text, err := fetch(http.MethodGet, platform.Endpoints.Elasticsearch+"/user_details/_doc/900001?routing=12", "")
			if err != nil {
				return err
			}
			if !strings.Contains(string(text), name) {
				return fmt.Errorf("it says %s", text)
			}
			return nil
		})
		t.Logf("found after %v", time.Since(begin).Round(time.Millisecond))
	}
}
