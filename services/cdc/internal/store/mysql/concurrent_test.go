package mysql_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

const (
	raceUsers   = 40
	raceWriters = 3
	raceReaders = 4
	raceChanges = 250 // by each writer
)

// Writers change the sources and name the patients concerned; computers take what was named in batches that overlap,
// in any order. When all is quiet, user_meta is what the sources say, and each change was followed by a computation
// that began after it.
func TestConcurrentComputationsEndInWhatTheSourcesSay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store := mysql.New(mysql.Deps{DB: b.db, Clock: clock.System{}, Phases: b.watch})
	recomputer := materialize.NewRecomputer(materialize.Deps{Store: store, Late: noLate{t}, Observer: silent{}, Config: materialize.DefaultConfig()})
	dirty := make(chan int64, 10_000)
	var writers, computers sync.WaitGroup
	for w := range raceWriters {
		writers.Go(func() { b.write(t, w, dirty) })
	}
	for range raceReaders {
		computers.Go(func() {
			for batch := take(dirty); batch != nil; batch = take(dirty) {
				if _, err := recomputer.Recompute(t.Context(), targets(batch...)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(dirty)
	computers.Wait()
	b.same(t)
	b.noDifferences(t)
}

// take returns what waits, at least one patient; nil when the channel is closed and empty.
func take(dirty <-chan int64) []int64 {
	id, ok := <-dirty
	if !ok {
		return nil
	}
	batch := []int64{id}
	for len(batch) < 15 {
		select {
		case id, ok := <-dirty:
			if !ok {
				return batch
			}
			batch = append(batch, id)
		default:
			return batch
		}
	}
	return batch
}

// write makes random changes, each committed before its patients are named.
func (b *bench) write(t *testing.T, seed int, dirty chan<- int64) {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	for n := range raceChanges {
		user, other, lab := 1+r.Int64N(raceUsers), 1+r.Int64N(raceUsers), 1+r.Int64N(3)
		row := int64(seed*10_000 + r.IntN(200) + 1)
		var err error
		switch r.IntN(8) {
		case 0, 1:
			_, err = b.db.ExecContext(t.Context(), "REPLACE INTO userDetails (id, labId_id, firstName, isDeleted) VALUES (?, ?, ?, ?)", user, lab, fmt.Sprintf("N%d", n), r.IntN(4)/3)
		case 2:
			_, err = b.db.ExecContext(t.Context(), "DELETE FROM userDetails WHERE id = ?", user)
		case 3, 4:
			_, err = b.db.ExecContext(t.Context(), "INSERT INTO billing (id, labId_id, labBillId, orderNumber, userDetailsId_id) VALUES (?, ?, ?, ?, ?)"+
				" ON DUPLICATE KEY UPDATE orderNumber = CONCAT(orderNumber, '+')", row, lab, row, fmt.Sprintf("O%d", n), user)
		case 5:
			_, err = b.db.ExecContext(t.Context(), "UPDATE billing SET userDetailsId_id = ? WHERE userDetailsId_id = ?", other, user)
		case 6:
			_, err = b.db.ExecContext(t.Context(), "INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, sampleId) VALUES (?, ?, 1, ?, 1, ?)"+
				" ON DUPLICATE KEY UPDATE sampleRedrawFlag = 7 - sampleRedrawFlag", row, lab, user, fmt.Sprintf("s%d", n))
		case 7:
			_, err = b.db.ExecContext(t.Context(), "DELETE FROM billing WHERE id = ?", row)
			for id := int64(1); id <= raceUsers; id++ { // whoever had it
				dirty <- id
			}
		}
		if err != nil {
			t.Errorf("change the sources: %v", err)
		}
		dirty <- user
		dirty <- other
		if r.IntN(10) == 0 {
			dirty <- 1 + r.Int64N(raceUsers)
		}
	}
	// An upsert of a row that exists concerns its owner, whom the writer does not know: an event's image would name them.
	for id := int64(1); id <= raceUsers; id++ {
		dirty <- id
	}
}

func (b *bench) noDifferences(t *testing.T) {
	t.Helper()
	ids, err := b.store.UserIDs(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	different, err := b.store.Differences(t.Context(), ids)
	if err != nil || len(different) > 0 || len(ids) == 0 {
		t.Fatalf("%d patients, %v differ, %v", len(ids), different, err)
	}
}

// Batches in opposite orders and a writer on the same rows: deadlocks are repeated inside.
func TestOverlappingBatchesDoNotFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for id := int64(1); id <= 60; id++ {
		b.patient(t, id, 12)
	}
	store, _ := b.over(b.db, phase.Running)
	var all sync.WaitGroup
	for g := range 6 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 30 {
				var batch []materialize.Target
				for id := int64(1); id <= 60; id++ {
					if r.IntN(2) == 0 {
						batch = append(batch, materialize.Target{UserID: id, Force: true})
					}
				}
				if _, err := store.Recompute(t.Context(), batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.same(t)
}

type noLate struct{ t *testing.T }

func (n noLate) Add(ids []int64) { n.t.Errorf("handed over: %v", ids) }

type silent struct{}

func (silent) Recomputed(int, int, int) {}
func (silent) Early(int)                {}
func (silent) Late(int)                 {}
