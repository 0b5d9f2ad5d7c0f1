package elastic_test

import (
	"net/http"
	"testing"

	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

func TestAMergedIndexHasOneSegmentAShard(t *testing.T) {
	t.Parallel()
	s, maker := enginetest.Ensured(t), document.NewMaker(document.RevVersions{})
	for id := range int64(4) {
		one(t, s, maker.Own(&projection.Row{UserID: id + 1, LabID: 8, Rev: 1, FullName: "Rahul"}))
		if err := s.Refresh(t.Context(), s.Live()); err != nil {
			t.Fatal(err)
		}
	}
	if before := segments(s); before < 2 {
		t.Fatalf("%d segments before", before)
	}
	if err := s.Compact(t.Context(), s.Live()); err != nil {
		t.Fatal(err)
	}
	if after := segments(s); after != 1 {
		t.Errorf("%d segments of the one shard that holds anything", after)
	}
	if err := s.Compact(t.Context(), s.Alias+"_none"); err == nil {
		t.Error("an index that is not there is merged")
	}
}

// segments returns the number of segments of the shard that has the most.
func segments(s *enginetest.Server) int {
	var answer struct {
		Indices map[string]struct {
			Shards map[string][]struct {
				Count int `json:"num_search_segments"`
			}
		}
	}
	s.Send(http.MethodGet, "/"+s.Alias+"/_segments", nil, &answer)
	most := 0
	for _, index := range answer.Indices {
		for _, shard := range index.Shards {
			most = max(most, shard[0].Count)
		}
	}
	return most
}
