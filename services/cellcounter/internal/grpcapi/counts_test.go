package grpcapi_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

func TestObserversAreCompared(t *testing.T) {
	t.Parallel()
	s := server(t, "global")
	save := func(observer int32, counts ...int32) (*cellcounterv1.GetCountsResponse, error) {
		in := &cellcounterv1.SaveCountRequest{TestId: 55, LabReportId: 7001, Observer: observer}
		for i, n := range counts {
			in.Counts = append(in.Counts, &cellcounterv1.CellTally{CellId: int64(i + 1), Count: n})
		}
		who := user
		if observer == 2 {
			who = reader
		}
		return s.SaveCount(as(t, who), in)
	}
	if out, err := save(1, 60, 40); err != nil || len(out.GetObservers()) != 1 || len(out.GetComparison()) != 0 {
		t.Fatalf("SaveCount of the first observer = %v, %v, want one observer and no comparison", out, err)
	}
	out, err := save(2, 20, 80)
	if err != nil || len(out.GetComparison()) != 2 || out.GetComparison()[0].GetWithinChance() {
		t.Fatalf("SaveCount of the second observer = %v, %v, want a difference of two cells beyond chance", out, err)
	}
	if _, err := save(3, 1); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("SaveCount of a third observer = %v, want Invalid", err)
	}
	if _, err := save(1, -1); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("SaveCount of a negative count = %v, want Invalid", err)
	}
	if _, err := s.GetCounts(as(t, other), &cellcounterv1.GetCountsRequest{TestId: 55, LabReportId: 7001}); !apperr.Is(err, apperr.NotFound) {
		t.Errorf("GetCounts of another laboratory = %v, want NotFound", err)
	}
}

// The test makes each kind of login count for report 7001, on a bill of doctor 301, and read the counts.
func TestWhoCountsAndReadsCounts(t *testing.T) {
	t.Parallel()
	const letIn = apperr.Kind(0)
	doctor := func(id int64, docType int) authn.Principal {
		return authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: id, DocType: &docType}
	}
	for name, test := range map[string]struct {
		who  authn.Principal
		want apperr.Kind
	}{
		"a lab user":              {reader, letIn},
		"support":                 {support, letIn},
		"a department's doctor":   {doctor(302, 0), letIn},
		"the bill's doctor":       {doctor(301, 2), letIn},
		"another doctor":          {doctor(302, 2), apperr.NotFound},
		"an organisation":         {authn.Principal{Kind: authn.Session, SessionType: authn.Organization, LabID: 12, OrgID: 45}, apperr.Forbidden},
		"a collection centre":     {authn.Principal{Kind: authn.Session, SessionType: authn.CollectionCenter, LabID: 12, CCID: 21}, apperr.Forbidden},
		"an instrument":           {authn.Principal{Kind: authn.Bearer, LabID: 12}, apperr.Forbidden},
		"another laboratory":      {other, apperr.NotFound},
		"no one's laboratory yet": {homeless, apperr.Invalid},
	} {
		s := server(t, "global")
		_, err := s.SaveCount(as(t, test.who), &cellcounterv1.SaveCountRequest{TestId: 55, LabReportId: 7001, Observer: 1,
			Counts: []*cellcounterv1.CellTally{{CellId: 1, Count: 100}}})
		if (err == nil) != (test.want == letIn) || err != nil && !apperr.Is(err, test.want) {
			t.Errorf("%s: SaveCount = %v, want kind %d (0: no error)", name, err, test.want)
		}
		_, err = s.GetCounts(as(t, test.who), &cellcounterv1.GetCountsRequest{TestId: 55, LabReportId: 7001})
		if (err == nil) != (test.want == letIn) || err != nil && !apperr.Is(err, test.want) {
			t.Errorf("%s: GetCounts = %v, want kind %d (0: no error)", name, err, test.want)
		}
	}
}

// The test checks which counts of report 7001, which belongs to test 55, are refused after user 77 counted it.
func TestStoredCountsProveSomething(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	s := over(db, "global")
	save := func(who authn.Principal, test int64, observer int32, counts ...*cellcounterv1.CellTally) error {
		_, err := s.SaveCount(as(t, who), &cellcounterv1.SaveCountRequest{TestId: test, LabReportId: 7001, Observer: observer, Counts: counts})
		return err
	}
	replace := func(version int64, n int32) error {
		_, err := s.SaveCount(as(t, reader), &cellcounterv1.SaveCountRequest{TestId: 55, LabReportId: 7001, Observer: 1,
			Counts: []*cellcounterv1.CellTally{{CellId: 1, Count: n}}, IfVersion: &version})
		return err
	}
	refused := func(what string, err error, reason string) {
		t.Helper()
		if e, ok := apperr.From(err); !ok || e.Reason != reason {
			t.Errorf("%s: %v, want %s", what, err, reason)
		}
	}
	tally := func(cell int64, n int32) *cellcounterv1.CellTally {
		return &cellcounterv1.CellTally{CellId: cell, Count: n}
	}
	if err := save(user, 55, 1, tally(1, 100)); err != nil {
		t.Fatal(err)
	}
	refused("the second observer is the first", save(user, 55, 2, tally(1, 90)), "SAME_OBSERVER")
	refused("another test", save(reader, 56, 2, tally(1, 90)), "INVALID_ARGUMENT")
	refused("a cell that is not there", save(reader, 55, 2, tally(99, 90)), "INVALID_ARGUMENT")
	refused("more than anybody counts", save(reader, 55, 2, tally(1, 10_000), tally(2, 1)), "INVALID_ARGUMENT")
	doctor := authn.Principal{Kind: authn.Session, SessionType: authn.Doctor, LabID: 12, DoctorID: 77, DocType: ptr(0)}
	if err := save(doctor, 55, 2, tally(1, 90)); err != nil {
		t.Errorf("SaveCount of doctor 77 after lab user 77 = %v, want no error", err)
	}
	if err := save(user, 55, 1, tally(1, 100)); err != nil || len(activityLog(t, db)) != 0 {
		t.Errorf("the same request again: %v, log %q; want no entry", err, activityLog(t, db))
	}
	refused("the stored count was not seen", save(reader, 55, 1, tally(1, 80)), "COUNT_STORED")
	if err := replace(1, 80); err != nil {
		t.Fatal(err)
	}
	refused("an older one was seen", replace(1, 70), "COUNT_STORED")
	out, err := s.GetCounts(as(t, reader), &cellcounterv1.GetCountsRequest{TestId: 55, LabReportId: 7001})
	if err != nil || out.GetObservers()[0].GetVersion() != 2 || out.GetObservers()[0].GetCounts()[0].GetCount() != 80 {
		t.Errorf("GetCounts = %v, %v, want version 2 with 80 cells", out, err)
	}
	want := []string{`994 CELL_COUNTER report 7001 bill 1 user 80: Cell count of observer 1 replaced, from 77: {1 100} to 80: {1 80}`}
	if diff := cmp.Diff(want, activityLog(t, db)); diff != "" {
		t.Errorf("the activity log (-want +got): %s", diff)
	}
	for reason, column := range map[string]string{"REPORT_SIGNED": "isSigned", "REPORT_DISMISSED": "dismissed"} {
		storetest.Exec(t, db, "UPDATE labReportRelation SET "+column+" = 1 WHERE id = 7001")
		refused("a closed report", save(reader, 55, 1, tally(1, 70)), reason)
		storetest.Exec(t, db, "UPDATE labReportRelation SET "+column+" = 0 WHERE id = 7001")
	}
}

// The sample of the report is drawn again while its smear is counted. The count must not be saved as one of the new
// sample.
func TestACountIsOfTheSampleThatWasCounted(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	s := over(db, "global")
	draw := func(sample string) { storetest.Exec(t, db, "UPDATE labReportRelation SET sampleId = ?", sample) }
	present := func() string {
		out, err := s.GetCounts(as(t, user), &cellcounterv1.GetCountsRequest{TestId: 55, LabReportId: 7001})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(out.GetSampleId(), " ", len(out.GetObservers()))
	}
	save := func(sample *string) string {
		out, err := s.SaveCount(as(t, user), &cellcounterv1.SaveCountRequest{TestId: 55, LabReportId: 7001, Observer: 1,
			Counts: []*cellcounterv1.CellTally{{CellId: 1, Count: 100}}, SampleId: sample})
		if e, ok := apperr.From(err); ok {
			return e.Reason
		}
		return out.GetSampleId()
	}
	draw("S-1")
	if got := present(); got != "S-1 0" {
		t.Errorf("the sample before the count is %q, want S-1 and no count", got)
	}
	draw("S-2")
	if got := save(ptr("S-1")); got != "SAMPLE_CHANGED" || present() != "S-2 0" {
		t.Errorf("the smear of S-1 is saved: %s, stored %q; want SAMPLE_CHANGED and no count", got, present())
	}
	for name, sample := range map[string]*string{"the present sample": ptr("S-2"), "no sample": nil, "an empty one": ptr("")} {
		if got := save(sample); got != "S-2" {
			t.Errorf("%s: %s, want a count of S-2", name, got)
		}
	}
	draw("")
	if got := save(ptr("S-2")); got != "" {
		t.Errorf("the number was removed: %s, want no error", got)
	}
}

// The sample is rejected while its smear is counted: the report has no number until the next sample is drawn. The count
// must not become one of the next sample.
func TestACountIsOfItsSampleWhileTheReportHasNone(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	s := over(db, "global")
	draw := func(sample string) { storetest.Exec(t, db, "UPDATE labReportRelation SET sampleId = ?", sample) }
	save := func(sample string) error {
		_, err := s.SaveCount(as(t, user), &cellcounterv1.SaveCountRequest{TestId: 55, LabReportId: 7001, Observer: 1,
			Counts: []*cellcounterv1.CellTally{{CellId: 1, Count: 100}}, SampleId: &sample})
		return err
	}
	if err := save(strings.Repeat("é", 65)); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("a number that is too long: %v, want Invalid", err)
	}
	if err := save("S-1"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sample string
		other  bool
	}{{"", false}, {"S-2", true}, {"S-1", false}} {
		draw(c.sample)
		out, err := s.GetCounts(as(t, user), &cellcounterv1.GetCountsRequest{TestId: 55, LabReportId: 7001})
		if err != nil || out.GetObservers()[0].GetOtherSample() != c.other {
			t.Errorf("the count of S-1 while the report has %q: %v, %v; want of another sample: %t", c.sample, out, err, c.other)
		}
	}
}

// activityLog returns the entries of replaced counts as text.
func activityLog(t *testing.T, db *sql.DB) []string {
	t.Helper()
	const query = `SELECT CONCAT(category, ' ', log_context, ' report ', labReportId, ' bill ', billId, ' user ', labUserId, ': ',
  activityText, ', from ', JSON_VALUE(meta, '$.old.counted_by'), ': {', JSON_VALUE(meta, '$.old.counts[0].cell_id'), ' ',
  JSON_VALUE(meta, '$.old.counts[0].count'), '} to ', JSON_VALUE(meta, '$.new.counted_by'), ': {',
  JSON_VALUE(meta, '$.new.counts[0].cell_id'), ' ', JSON_VALUE(meta, '$.new.counts[0].count'), '}') FROM ActivityLog ORDER BY id`
	entries, err := mysqldb.Collect(t.Context(), db, query, nil, func(row mysqldb.Row, s *string) error { return row.Scan(s) })
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
