package request_test

import (
	"context"
	"errors"
	"testing"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/activitylog"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/rerun/internal/request"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

var errCrash = errors.New("the process died here")

// dying makes the process "die" at a step: what follows in the same request does not happen, clean-up included.
type dying struct {
	request.Reports
	atLog, atCommit bool
	lostAnswer      bool // the commit happened, its answer was lost
}

func (d dying) Lock(ctx context.Context, scope authn.LabScope, id int64, work func(request.Locked) error) error {
	err := d.Reports.Lock(ctx, scope, id, func(l request.Locked) error {
		if d.atLog {
			l = noLog{l}
		}
		if err := work(l); err != nil {
			return err
		}
		if d.atCommit {
			return errCrash
		}
		return nil
	})
	if err == nil && d.lostAnswer {
		return mysqldb.ErrCommitUnknown
	}
	return err
}

type noLog struct{ request.Locked }

func (noLog) Log(context.Context, activitylog.Entry) (int64, error) { return 0, errCrash }

// clumsy cannot take documents back, as a process that died cannot.
type clumsy struct{ request.Records }

func (clumsy) Delete(context.Context, authn.LabScope, ...string) error { return errCrash }

func TestACrashBetweenDocumentAndCommitBlocksNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sound := b.reports
	b.reports, b.records = dying{Reports: sound, atCommit: true}, clumsy{b.store}
	b.refused(manual(0, 1), apperr.Internal, "RERUN_NOT_SAVED")
	if s := b.stored(); len(s) != 1 || b.flag() != rerun.Normal || len(b.log(activitylog.RerunRequested)) != 0 {
		t.Fatalf("the crash should leave a document alone: %+v, flag %d", s, b.flag())
	}
	b.reports, b.records = sound, b.store
	if r := b.must(manual(0, 3)); r.Number != 1 {
		t.Fatalf("the abandoned document counts: number %d", r.Number)
	}
	if s := b.stored(); len(s) != 1 || s[0].ID != "12-id-2" {
		t.Fatalf("%+v", s)
	}
}

func TestAFailedSaveTakesItsDocumentBackAndIsLogged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.reports = dying{Reports: b.reports, atLog: true}
	b.refused(manual(0, 1), apperr.Internal, "RERUN_NOT_SAVED")
	_, err := b.request(manual(0, 1))
	if err.Error() != "Something went wrong when saving sample rerun" || !errors.Is(err, errCrash) {
		t.Fatalf("error = %v", err)
	}
	entries := b.log(activitylog.RerunFailed)
	if len(b.stored()) != 0 || b.flag() != rerun.Normal || len(entries) != 2 || b.counts.failed["save"] != 2 ||
		b.cached() {
		t.Fatalf("stored %v, flag %d, log %v, counts %v", b.stored(), b.flag(), entries, b.counts.failed)
	}
	if entries[0]["user"] != int64(77) || entries[0]["outcome_unknown"] != false {
		t.Fatalf("%v", entries[0])
	}
}

func TestALostCommitAnswerLeavesWhatWasCommitted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sound := b.reports
	b.reports = dying{Reports: sound, lostAnswer: true}
	b.refused(manual(0, 1), apperr.Internal, "RERUN_NOT_SAVED")
	b.reports = sound
	if len(b.stored()) != 1 || b.flag() != rerun.Requested {
		t.Fatalf("stored %v, flag %d", b.stored(), b.flag())
	}
	if entries := b.log(activitylog.RerunFailed); len(entries) != 1 || entries[0]["outcome_unknown"] != true {
		t.Fatalf("%v", entries)
	}
	b.refused(manual(0, 1), apperr.Conflict, "RERUN_ALREADY_REQUESTED")
}

func TestACommittedRecordSurvivesTheNextRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(manual(0, 1))
	if err := b.store.Insert(t.Context(), storetest.Record("analyser", storetest.Report, rerun.ByAnalyser, 2,
		false)); err != nil {
		t.Fatal(err)
	}
	b.setFlag(rerun.Fulfilled)
	b.must(manual(0, 3))
	if s := b.stored(); len(s) != 3 || s[0].ID != "12-id-1" || s[1].ID != "analyser" || s[2].Number != 3 {
		t.Fatalf("%+v", s)
	}
}

func TestARecordOfAnotherProgramIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.records = foreign{b.store}
	if err := b.store.Insert(t.Context(), storetest.Record("theirs", storetest.Report, rerun.Auto, 1, true)); err != nil {
		t.Fatal(err)
	}
	b.setFlag(rerun.Fulfilled)
	b.refused(automatic(1), apperr.Conflict, "AUTO_RERUN_EXISTS")
	if r := b.must(manual(0, 1)); r.Number != 2 || len(b.stored()) != 2 {
		t.Fatalf("number %d, %d stored", r.Number, len(b.stored()))
	}
}

// foreign marks every record as another program's.
type foreign struct{ request.Records }

func (f foreign) OfReport(ctx context.Context, scope authn.LabScope, id int64) ([]rerun.Record, error) {
	records, err := f.Records.OfReport(ctx, scope, id)
	for i := range records {
		records[i].Foreign = true
	}
	return records, err
}

func TestRecordsThatOutlivedTheirRerunDoNotBlockTheNext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(automatic(1))
	b.setFlag(rerun.Normal) // closed by another program, which left the documents
	second := automatic(1)
	second.Number = 0
	if r := b.must(second); r.Number != 2 || b.flag() != rerun.Requested {
		t.Fatalf("number %d, flag %d", r.Number, b.flag())
	}
}

func TestAnAbsentDocumentStoreOrCacheIsHandled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.records = absent{b.store}
	b.refused(manual(0, 1), apperr.Internal, "RERUN_NOT_SAVED")
	if b.flag() != rerun.Normal {
		t.Fatalf("flag %d", b.flag())
	}
	b.records, b.index = b.store, index{errCrash}
	b.cache = brokenCache{b.cache}
	b.must(manual(0, 1)) // neither the cache nor the index fails a request
	if b.counts.failed["cache"] != 1 || b.counts.failed["index"] != 1 {
		t.Fatalf("%v", b.counts.failed)
	}
}

// brokenCache takes nothing.
type brokenCache struct{ storetest.OpenSet }

func (brokenCache) Set(context.Context, authn.LabScope, int64, bool) error { return errCrash }

type absent struct{ request.Records }

func (absent) OfReport(context.Context, authn.LabScope, int64) ([]rerun.Record, error) {
	return nil, apperr.New(apperr.Unavailable, "DOCUMENT_STORE_DOWN", "The document store does not answer; try again")
}
