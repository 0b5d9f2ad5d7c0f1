package mysql_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/cdc/internal/materialize"
	"github.com/labplatform/labplatform/services/cdc/internal/store/mysql"
)

const benchPatients = 20_000 // each has two bills and four reports

// BenchmarkRecompute writes rows of patients, all of which differ, with one event per patient and from two goroutines,
// like the consumer. The server must be configured for durability: innodb_flush_log_at_trx_commit=1 and sync_binlog=1.
func BenchmarkRecompute(b *testing.B) {
	w := setup(b)
	w.fill(b)
	for _, size := range []int{200, 500} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("batch=%d/workers=%d", size, workers), func(b *testing.B) { w.measure(b, size, workers) })
		}
	}
}

func (b *fixture) fill(t testing.TB) {
	t.Helper()
	b.exec(t, "INSERT INTO userDetails (id, labId_id, branchId, orgId_id, labPatientId, firstName, lastName, contact, email, gender, dateOfBirth, age)"+
		" SELECT seq, 1 + seq MOD 20, seq MOD 7, seq MOD 9, CONCAT('P-', seq), 'Rahul', CONCAT('Sharma ', seq), 9800000000 + seq, CONCAT(seq, '@x.in'), 'Male', '1990-02-11', '36 Y'"+
		" FROM "+mysqltest.Numbers(benchPatients))
	b.exec(t, "INSERT INTO billing (labId_id, labBillId, orderNumber, userDetailsId_id, orgId_id, branchId)"+
		" SELECT labId_id, id * 10 + seq, CONCAT('ORD-', id, '-', seq), id, 45, branchId FROM userDetails JOIN "+mysqltest.Numbers(2))
	b.exec(t, "INSERT INTO labReportRelation (labId_id, billId_id, userDetailsId_id, reportID_id, sampleId, lrfId)"+
		" SELECT labId_id, 1, id, seq, CONCAT('S', id, '-', seq), CONCAT('L', id) FROM userDetails JOIN "+mysqltest.Numbers(4))
	b.exec(t, "ANALYZE TABLE userDetails, billing, labReportRelation")
}

// measure processes b.N events. Between rounds over all patients, it changes the sources with the timer stopped.
func (b *fixture) measure(t *testing.B, size, workers int) {
	clk := &ticking{now: time.Now()}
	store := mysql.New(mysql.Deps{DB: b.db, Clock: clk, Phases: b.watch})
	if _, err := b.watch.Phase(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.ResetTimer()
	for done := 0; done < t.N; done += benchPatients {
		t.StopTimer()
		b.exec(t, "UPDATE billing SET orderNumber = CONCAT('ORD-', userDetailsId_id, '-', labBillId, '-', ?)", time.Now().UnixNano()%100_000)
		t.StartTimer()
		var next atomic.Int64
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for {
					from := next.Add(int64(size)) - int64(size)
					if from >= int64(min(benchPatients, t.N-done)) {
						return
					}
					batch(t, store, from, size)
				}
			})
		}
		all.Wait()
	}
	t.ReportMetric(float64(t.N)/t.Elapsed().Seconds(), "events/s")
}

func batch(t *testing.B, store *mysql.Store, from int64, size int) {
	list := make([]materialize.Target, size)
	for i := range list {
		list[i] = materialize.Target{UserID: 1 + (from+int64(i))*7919%benchPatients}
	}
	got, err := materialize.NewRecomputer(materialize.Deps{Store: store, Late: nil, Observer: silent{}, Config: materialize.DefaultConfig()}).Recompute(t.Context(), list)
	if err != nil || got.Written != size {
		t.Errorf("got %+v, %v, want size", got, err)
	}
}
