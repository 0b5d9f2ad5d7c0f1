package elastic_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

func scanned(t *testing.T, s *enginetest.Server, lab int64) []document.Entry {
	t.Helper()
	if err := s.Refresh(t.Context(), s.Live()); err != nil {
		t.Fatal(err)
	}
	var all []document.Entry
	for entry, err := range s.Scan(t.Context(), s.Live(), lab) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
	return all
}

func TestAScanSeesEveryDocumentOfALaboratoryInOrder(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	maker := document.NewMaker(document.RevVersions{})
	var ops []document.Op
	for id := range int64(1203) {
		row := projection.Row{UserID: id + 1, LabID: 8, Rev: 4, FullName: fmt.Sprint("Patient ", id)}
		if id%3 == 0 {
			row.LabID = 9
		}
		ops = append(ops, maker.Own(&row))
	}
	wrong := maker.Own(&projection.Row{UserID: 2000, LabID: 8, Rev: 4})
	wrong.Route = 1
	moved := maker.Write(&projection.Row{UserID: 7, LabID: 9, FormerLabIDs: []int64{8}, Rev: 6})
	if _, err := s.Bulk(t.Context(), s.Live(), append(append(ops, wrong), moved...)); err != nil {
		t.Fatal(err)
	}
	all := scanned(t, s, 8)
	if len(all) != 804 || !slices.IsSortedFunc(all, func(a, b document.Entry) int { return int(a.UserID - b.UserID) }) {
		t.Errorf("%d documents", len(all))
	}
	last := all[len(all)-1]
	if diff := cmp.Diff(document.Entry{UserID: 2000, Route: 1, LabID: 8, Version: 9, Source: wrong.Body}, last); diff != "" {
		t.Errorf("a document on a wrong route: %s", diff)
	}
	if labs, err := s.Laboratories(t.Context(), s.Live()); err != nil || !slices.Equal(labs, []int64{8, 9}) {
		t.Errorf("laboratories %v, error %v", labs, err)
	}
	for range s.Scan(t.Context(), s.Live(), 8) {
		break // a caller may stop a scan early
	}
	for entry, err := range s.Scan(t.Context(), "nope", 8) {
		if err == nil {
			t.Errorf("a missing index yields %+v", entry)
		}
	}
}

func TestDocumentsAreFoundBeforeARefreshAndOnAnyRouteOfTheirShard(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	maker := document.NewMaker(document.RevVersions{})
	row := projection.Row{UserID: 1, LabID: 8, FormerLabIDs: []int64{1}, Rev: 4}
	if _, err := s.Bulk(t.Context(), s.Live(), maker.Write(&row)); err != nil {
		t.Fatal(err)
	}
	asked := []document.Entry{{UserID: 1, Route: 8}, {UserID: 1, Route: 1}, {UserID: 1, Route: 7}, {UserID: 2, Route: 8}}
	found, err := s.Find(t.Context(), s.Live(), asked)
	if err != nil {
		t.Fatal(err)
	}
	own := document.Entry{UserID: 1, Route: 8, LabID: 8, Version: 9}
	want := []document.Entry{own, {UserID: 1, Route: 1, LabID: 1, Version: 8, Deleted: true}, own}
	if diff := cmp.Diff(want, found, cmpopts.IgnoreFields(document.Entry{}, "Source")); diff != "" {
		t.Error(diff)
	}
}

func TestStubsAreFoundByTheirAge(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	maker := document.NewMaker(document.RevVersions{})
	var ops []document.Op
	for i, rev := range []int64{10, 20, 30} {
		ops = append(ops, maker.Own(&projection.Row{UserID: int64(i), LabID: 8, Rev: rev, IsDeleted: rev != 20}))
	}
	if _, err := s.Bulk(t.Context(), s.Live(), ops); err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(t.Context(), s.Live()); err != nil {
		t.Fatal(err)
	}
	var got []int64
	for entry, err := range s.Stubs(t.Context(), s.Live(), 30) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry.UserID)
	}
	if !slices.Equal(got, []int64{0}) {
		t.Errorf("stubs of the patients %v", got)
	}
}

// TestLaboratoriesOfAPartOfTheIndexAreAnError: a comparison of those laboratories that the responding shards know would
// find no difference in the others.
func TestLaboratoriesOfAPartOfTheIndexAreAnError(t *testing.T) {
	t.Parallel()
	s := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("allow_partial_search_results") != "false" {
			t.Error("the engine may leave shards out")
		}
		_, _ = io.WriteString(w, `{"_shards":{"total":5,"successful":4,"failed":1},"aggregations":{"labs":{"buckets":[{"key":{"lab":7}}]}}}`)
	})
	if labs, err := s.Laboratories(t.Context(), s.Live()); err == nil {
		t.Errorf("got %v, want an error", labs)
	}
}
