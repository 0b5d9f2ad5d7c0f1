package mongo_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
)

// TestTimesOfOtherProgramsAreRead reads a request and values of another program, whose times are texts or missing. All
// documents are read; an unreadable time does not affect the others.
func TestTimesOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	db := mongotest.Database(t)
	want := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	written := []any{
		bson.NewDateTimeFromTime(want), "2026-11-20T10:30:00Z", "2026-11-20T16:00:00+05:30", "2026-11-20T10:30:00", "2026-11-20 10:30:00",
		"yesterday", 12,
	}
	times := slices.Repeat([]time.Time{want}, 5)
	times = append(times, time.Time{}, time.Time{})
	for i, at := range written {
		document := bson.D{
			{Key: "lab_id", Value: 12}, {Key: "lab_report_id", Value: 7001}, {Key: "rerun_number", Value: i + 1},
			{Key: "created_at", Value: at},
		}
		_, err := db.Collection("SampleRerun").InsertOne(t.Context(), append(slices.Clone(document),
			bson.E{Key: "requested_parameters", Value: "[1, 3]"}, bson.E{Key: "type", Value: "Manual"}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Collection("SampleRerunValues").InsertOne(t.Context(), append(slices.Clone(document),
			bson.E{Key: "index", Value: 1}, bson.E{Key: "value", Value: "7.1"}))
		if err != nil {
			t.Fatal(err)
		}
	}
	s := mongo.New(db)
	scope, err := authn.Principal{Kind: authn.Service}.Scope(12)
	if err != nil {
		t.Fatal(err)
	}
	records, err := s.OfReports(t.Context(), scope, []int64{7001})
	if err != nil || len(records) != len(written) {
		t.Fatalf("%d records, %v", len(records), err)
	}
	values, err := s.ValuesOfReports(t.Context(), scope, []int64{7001})
	if err != nil || len(values) != len(written) {
		t.Fatalf("%d values, %v", len(values), err)
	}
	for _, r := range records {
		if at := times[r.Number-1]; !r.CreatedAt.Equal(at) || !r.Foreign || !slices.Equal(r.Requested, []int{1, 3}) {
			t.Errorf("%v as %v, requested %v", written[r.Number-1], r.CreatedAt, r.Requested)
		}
	}
	for _, v := range values {
		if at := times[v.Number-1]; !v.CreatedAt.Equal(at) || !v.Foreign || v.Value != "7.1" {
			t.Errorf("a value of %v as %v", written[v.Number-1], v.CreatedAt)
		}
	}
}
