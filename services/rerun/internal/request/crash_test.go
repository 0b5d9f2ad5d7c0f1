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

// dying simulates a crash at a step: the later steps of the request do not happen.
type dying struct {
	request.Reports

	beforeCommit bool
	lostResponse bool // the commit succeeded but its response was lost
}

func (d dying) Change(ctx context.Context, scope authn.LabScope, id int64, wants rerun.Wants,
	decide func(rerun.Facts) (rerun.Change, error),
) error {
	err := d.Reports.Change(ctx, scope, id, wants, func(f rerun.Facts) (rerun.Change, error) {
		change, err := decide(f)
		if err == nil && d.beforeCommit {
			err = errCrash
		}
		return change, err
	})
	if err == nil && d.lostResponse {
		return mysqldb.ErrCommitUnknown
	}
	return err
}

// clumsy is a document store in which deletions fail, as after a crash.
type clumsy struct{ storetest.Documents }

func (c clumsy) Write(ctx context.Context, scope authn.LabScope, w rerun.Writes) error {
	if len(w.DeleteRecords) > 0 {
		return errCrash
	}
	return c.Documents.Write(ctx, scope, w)
}

func TestACrashBetweenDocumentAndCommitBlocksNobody(t *testing.T) {
	t.Parallel()
	f := setup(t)
	sound := f.reports
	f.reports, f.documents = dying{Reports: sound, beforeCommit: true}, clumsy{f.documents}
	f.refused(manual(0, 1), apperr.Internal, "RERUN_NOT_SAVED")
	if s := f.stored(); len(s) != 1 || f.flag() != rerun.Normal || len(f.log(activitylog.RerunRequested)) != 0 {
		t.Fatalf("records %+v and flag %d after the crash, want one record and flag 0", s, f.flag())
	}
	f.reports, f.documents = sound, f.Documents
	if r := f.must(manual(0, 3)); r.Number != 1 {
		t.Fatalf("number %d after an abandoned document, want 1", r.Number)
	}
	if s := f.stored(); len(s) != 1 || s[0].ID != "12-id-2" {
		t.Fatalf("unexpected records %+v", s)
	}
}

func TestAFailedSaveTakesItsDocumentBackAndIsLogged(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.reports = dying{Reports: f.reports, beforeCommit: true}
	f.refused(manual(0, 1), apperr.Internal, "RERUN_NOT_SAVED")
	_, err := f.request(manual(0, 1))
	if err.Error() != "Something went wrong when saving sample rerun" || !errors.Is(err, errCrash) {
		t.Fatalf("error = %v", err)
	}
	entries := f.log(activitylog.RerunFailed)
	if len(f.stored()) != 0 || f.flag() != rerun.Normal || len(entries) != 2 || f.Counts.Of("failed save") != 2 ||
		f.cached() {
		t.Fatalf("stored %v, flag %d, log %v; want nothing stored and two entries", f.stored(), f.flag(), entries)
	}
	if entries[0]["user"] != int64(77) || entries[0]["outcome_unknown"] != false {
		t.Fatalf("%v", entries[0])
	}
}

func TestALostCommitAnswerLeavesWhatWasCommitted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	sound := f.reports
	f.reports = dying{Reports: sound, lostResponse: true}
	f.refused(manual(0, 1), apperr.Internal, "RERUN_NOT_SAVED")
	f.reports = sound
	if len(f.stored()) != 1 || f.flag() != rerun.Requested {
		t.Fatalf("stored %v, flag %d", f.stored(), f.flag())
	}
	if entries := f.log(activitylog.RerunFailed); len(entries) != 1 || entries[0]["outcome_unknown"] != true {
		t.Fatalf("%v", entries)
	}
	f.refused(manual(0, 1), apperr.Conflict, "RERUN_ALREADY_REQUESTED")
}

func TestACommittedRecordSurvivesTheNextRequest(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.must(manual(0, 1))
	f.Insert(storetest.Record("analyser", storetest.Report, rerun.ByAnalyser, 2, false))
	f.setFlag(rerun.Fulfilled)
	f.must(manual(0, 3))
	if s := f.stored(); len(s) != 3 || s[0].ID != "12-id-1" || s[1].ID != "analyser" || s[2].Number != 3 {
		t.Fatalf("unexpected records %+v", s)
	}
}

func TestARecordOfAnotherProgramIsKept(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.documents = foreign{f.documents}
	f.Insert(storetest.Record("theirs", storetest.Report, rerun.Auto, 1, true))
	f.setFlag(rerun.Fulfilled)
	f.refused(automatic(1), apperr.Conflict, "AUTO_RERUN_EXISTS")
	if r := f.must(manual(0, 1)); r.Number != 2 || len(f.stored()) != 2 {
		t.Fatalf("number %d, %d stored", r.Number, len(f.stored()))
	}
}

// foreign marks every record as one of another program.
type foreign struct{ storetest.Documents }

func (f foreign) OfReports(ctx context.Context, scope authn.LabScope, ids []int64) ([]rerun.Record, error) {
	records, err := f.Documents.OfReports(ctx, scope, ids)
	for i := range records {
		records[i].Foreign = true
	}
	return records, err
}

func TestRecordsThatOutlivedTheirRerunDoNotBlockTheNext(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.must(automatic(1))
	f.setFlag(rerun.Normal) // closed by another program, which left the documents
	second := automatic(1)
	second.Number = 0
	if r := f.must(second); r.Number != 2 || f.flag() != rerun.Requested {
		t.Fatalf("number %d, flag %d", r.Number, f.flag())
	}
}

func TestAnAbsentDocumentStoreOrCacheIsHandled(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.documents = absent{f.documents}
	f.refused(manual(0, 1), apperr.Internal, "RERUN_NOT_SAVED")
	if f.flag() != rerun.Normal {
		t.Fatalf("flag %d", f.flag())
	}
	f.documents, f.index = f.Documents, index{errCrash}
	f.openSet = brokenCache{}
	f.must(manual(0, 1)) // a failure of the cache or the index does not fail a request
	if f.Counts.Of("failed cache") != 1 || f.Counts.Of("failed index") != 1 {
		t.Fatal("the failures of cache and index are not counted once each")
	}
}

// brokenCache is a cache in which writes fail.
type brokenCache struct{}

func (brokenCache) Set(context.Context, authn.LabScope, int64, bool) error { return errCrash }

type absent struct{ storetest.Documents }

func (absent) OfReports(context.Context, authn.LabScope, []int64) ([]rerun.Record, error) {
	return nil, apperr.New(apperr.Unavailable, "DOCUMENT_STORE_DOWN", "The document store does not answer; try again")
}
