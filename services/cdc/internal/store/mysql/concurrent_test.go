package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/phase"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

const (
	raceUsers   = 6 // few, so that writers often change the same patient
	raceWriters = 4
	raceReaders = 6
	raceChanges = 400 // per writer
)

// TestConcurrentComputationsEndInWhatTheSourcesSay changes the sources. After each commit it computes the patients
// concerned, in overlapping batches and in any order. In the end user_meta must equal the sources.
func TestConcurrentComputationsEndInWhatTheSourcesSay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	store := mysql.New(mysql.Deps{DB: b.db, Clock: clock.System{}, Phases: b.watch})
	recomputer := materialize.NewRecomputer(materialize.Deps{Store: store, Late: noLate{t}, Observer: silent{}, Config: materialize.DefaultConfig()})
	dirty := make(chan int64, 16)
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

// take returns one to four waiting patients, or nil if the channel is closed and empty. Small batches collide more
// often.
func take(dirty <-chan int64) []int64 {
	var batch []int64
	for id := range dirty {
		batch = append(batch, id)
		if len(batch) == 4 || len(dirty) == 0 {
			break
		}
	}
	return batch
}

// write makes random changes. After each commit, it reports exactly the patients concerned, as the images of the event
// would.
func (b *fixture) write(t *testing.T, seed int, dirty chan<- int64) {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	for n := range raceChanges {
		var owners []int64
		err := mysqldb.InTx(t.Context(), b.db, func(tx *sql.Tx) (err error) {
			owners, err = alter(t.Context(), tx, r, n)
			return err
		})
		if err != nil {
			t.Errorf("change the sources: %v", err)
		}
		for _, id := range owners {
			dirty <- id
		}
	}
}

// alter makes one change. It returns the patients of the changed rows before and after.
func alter(ctx context.Context, tx *sql.Tx, r *rand.Rand, n int) ([]int64, error) {
	user, lab, row := 1+r.Int64N(raceUsers), 1+r.Int64N(2), 1+r.Int64N(60)
	switch r.IntN(7) {
	case 0:
		_, err := tx.ExecContext(ctx, "REPLACE INTO userDetails (id, labId_id, firstName, isDeleted) VALUES (?, ?, ?, ?)", user, lab, fmt.Sprintf("N%d", n), r.IntN(4)/3)
		return []int64{user}, err
	case 1:
		_, err := tx.ExecContext(ctx, "DELETE FROM userDetails WHERE id = ?", user)
		return []int64{user}, err
	}
	table, columns, values := "billing", "labBillId, orderNumber", []any{row, fmt.Sprintf("O%d", n)}
	if r.IntN(2) == 0 {
		table, columns, values = "labReportRelation", "reportID_id, billId_id, sampleId", []any{1, 1, fmt.Sprintf("s%d", n)}
	}
	owners := []int64{user}
	var before int64
	err := tx.QueryRowContext(ctx, "SELECT userDetailsId_id FROM "+table+" WHERE id = ? FOR UPDATE", row).Scan(&before)
	if err == nil {
		owners = append(owners, before)
	} else if !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	if r.IntN(3) == 0 {
		_, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE id = ?", row)
		return owners, err
	}
	_, err = tx.ExecContext(ctx, "REPLACE INTO "+table+" (id, labId_id, userDetailsId_id, "+columns+") VALUES (?, 1, ?"+strings.Repeat(", ?", len(values))+")",
		append([]any{row, user}, values...)...)
	return owners, err
}

func (b *fixture) noDifferences(t *testing.T) {
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

// TestOverlappingBatchesDoNotFail runs batches in opposite orders and a writer on the same rows. The store must retry
// deadlocks itself.
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

// TestTheSourcesAreReadUnderTheLock changes the sources while a computation waits for a patient's lock. The computation
// must use the changed sources.
func TestTheSourcesAreReadUnderTheLock(t *testing.T) {
	t.Parallel()
	const id = 7700770077 // used to find the statement in the server's list of waiting statements
	b := setup(t)
	b.patient(t, id, 12)
	b.recompute(t, targets(id)...)
	holder, err := b.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.ExecContext(t.Context(), "SELECT * FROM user_meta WHERE user_id = ? FOR UPDATE", id); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.store.Recompute(t.Context(), targets(id))
		done <- err
	}()
	b.waitForLock(t, id)
	b.bill(t, 5, id, 12)
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	b.same(t)
}

func (b *fixture) waitForLock(t *testing.T, id int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ticker := time.NewTicker(150 * time.Millisecond) // if queried more often, the server keeps returning a cached list
	defer ticker.Stop()
	for {
		var waiting int
		err := b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE CONCAT('%', ?, '%')", id).Scan(&waiting)
		if err != nil {
			t.Fatalf("no one waits for the lock: %v", err)
		}
		if waiting > 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("no one waits for the lock")
		case <-ticker.C:
		}
	}
}
