package request_test

import (
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/memory"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

// TestNoSequenceOfRequestsAndCrashesBlocksAReport drives one report at a time through random requests, crashes
// and endings. Whatever happened before: a request is saved whenever the flag allows it, at most one committed
// record awaits values, and flag 3 means that exactly one does.
func TestNoSequenceOfRequestsAndCrashesBlocksAReport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var next atomic.Int64
	next.Store(10_000)
	property.Check(t, func(r *rapid.T) {
		id := next.Add(1)
		b.Fixture.Put(storetest.Row(id))
		m := &machine{bench: b, t: r, id: id}
		for range rapid.IntRange(1, 6).Draw(r, "steps") {
			m.step(rapid.SampledFrom([]string{"manual", "auto", "crash", "fulfil", "close", "close without deleting"}).Draw(r,
				"step"))
			m.check()
		}
	})
}

type machine struct {
	*bench
	t  *rapid.T
	id int64
}

func (m *machine) state() (rerun.Flag, []rerun.Record) {
	scope := storetest.Scope(m.bench.t, 12)
	flag, err := m.Reports.Flag(m.bench.t.Context(), scope, m.id)
	if err != nil {
		m.t.Fatal(err)
	}
	records, err := m.store.OfReport(m.bench.t.Context(), scope, m.id)
	if err != nil {
		m.t.Fatal(err)
	}
	return flag, records
}

func (m *machine) step(name string) {
	flag, records := m.state()
	command := request.Command{ReportID: m.id, Type: rerun.Manual, Requested: []int{1}}
	switch name {
	case "manual":
		m.request(command, flag)
	case "auto":
		command.Type = rerun.Auto
		if _, err := m.bench.request(command); err != nil && apperr.KindOf(err) != apperr.Conflict {
			m.t.Fatal(err)
		}
	case "crash":
		sound := m.reports
		m.reports, m.records = dying{Reports: sound, atCommit: true}, clumsy{m.store}
		if _, err := m.bench.request(command); err == nil {
			m.t.Fatal("a dead process answered")
		}
		m.reports, m.records = sound, m.store
	case "fulfil":
		if flag == rerun.Requested {
			m.set(rerun.Fulfilled)
		}
	default:
		m.close(records, name == "close")
	}
}

func (m *machine) request(c request.Command, flag rerun.Flag) {
	saved, err := m.bench.request(c)
	if flag == rerun.Requested {
		if apperr.KindOf(err) != apperr.Conflict {
			m.t.Fatalf("a second request: %v", err)
		}
		return
	}
	if err != nil || saved.Number < 1 {
		m.t.Fatalf("a report is blocked at flag %d: %v", flag, err)
	}
	if now, _ := m.state(); now != rerun.Requested {
		m.t.Fatalf("flag %d after a request", now)
	}
}

// close ends the rerun as confirm and abort will: the flag first, then the documents, unless it dies between.
func (m *machine) close(records []rerun.Record, deletes bool) {
	m.set(rerun.Normal)
	for _, r := range records {
		if !deletes {
			return
		}
		if err := m.store.Delete(m.bench.t.Context(), storetest.Scope(m.bench.t, 12), r.ID); err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *machine) set(f rerun.Flag) {
	m.Change(m.id, func(r *memory.Row) { r.Flag = f })
}

func (m *machine) check() {
	flag, records := m.state()
	awaiting := 0
	for _, r := range records {
		if r.Active {
			awaiting++
		}
	}
	if awaiting > 1 || (flag == rerun.Requested && awaiting != 1) {
		m.t.Fatalf("flag %d, %d records await values: %+v", flag, awaiting, records)
	}
}
