package mongo_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/testkit/await"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

func TestIndexesMayBeMadeAgainByTheNextProcess(t *testing.T) {
	t.Parallel()
	db := mongotest.Database(t)
	for range 3 {
		if err := mongo.New(db).Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIndexesMayBeMadeByManyAtOnce(t *testing.T) {
	t.Parallel()
	db := mongotest.Database(t)
	// A small store may drop connections if collections are created concurrently. The probe repeats the call.
	await.Nil(t, "four processes being ready at once", func() error {
		var errs [4]error
		var wait sync.WaitGroup
		for i := range errs {
			wait.Go(func() { errs[i] = mongo.New(db).Ready(t.Context()) })
		}
		wait.Wait()
		return errors.Join(errs[:]...)
	})
}

func TestAMissingStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	db, err := mongo.Open(mongo.Config{
		URI: config.Secret("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100"), Database: "lab"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mongo.New(db).OfReports(t.Context(), storetest.Scope(t, 12), []int64{1}); apperr.KindOf(err) != apperr.Unavailable {
		t.Fatalf("error = %v, want Unavailable", err)
	}
}

func TestDocumentsOfOtherProgramsAreReadAndChanged(t *testing.T) {
	t.Parallel()
	db := mongotest.Database(t)
	store := mongo.New(db)
	object := bson.NewObjectID()
	_, err := db.Collection("SampleRerun").InsertOne(t.Context(),
		bson.D{{Key: "_id", Value: object}, {Key: "lab_id", Value: 12}, {Key: "lab_report_id", Value: 7001},
			{Key: "type", Value: "auto"}, {Key: "rerun_number", Value: 1.0}, {Key: "requested_parameters", Value: "[1, 3]"},
			{Key: "is_active", Value: true},
			{Key: "created_at", Value: "2026-11-21T10:00:00Z"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Collection("SampleRerunValues").InsertOne(t.Context(),
		bson.D{{Key: "lab_id", Value: 12}, {Key: "lab_report_id", Value: 7001},
			{Key: "rerun_number", Value: 1}, {Key: "index", Value: 3}, {Key: "value", Value: "9"},
			{Key: "created_at", Value: "2026-11-21T10:00:00Z"}})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	records, err := store.OfReports(t.Context(), storetest.Scope(t, 12), []int64{7001})
	want := []rerun.Record{{ID: object.Hex(), LabID: 12, ReportID: 7001, Type: rerun.Auto, Number: 1,
		Requested: []int{1, 3}, Active: true, CreatedAt: at, Foreign: true}}
	if diff := cmp.Diff(want, records); diff != "" || err != nil {
		t.Fatalf("got %v %s, want none", err, diff)
	}
	values, err := store.ValuesOfReports(t.Context(), storetest.Scope(t, 12), []int64{7001})
	if err != nil || len(values) != 1 || len(values[0].ID) != 24 || values[0].Value != "9" ||
		!values[0].CreatedAt.Equal(at) {
		t.Fatalf("%+v %v", values, err)
	}
	if err := store.Write(t.Context(), storetest.Scope(t, 12), rerun.Writes{Close: []string{object.Hex()}}); err != nil {
		t.Fatal(err)
	}
	if records, err = store.OfReports(t.Context(), storetest.Scope(t, 12), []int64{7001}); err != nil || records[0].Active ||
		!records[0].Foreign {
		t.Fatalf("%+v %v", records, err)
	}
}

// TestNumbersAndTextsOfOtherProgramsAreRead: one document of another shape must not prevent reading those of the whole
// laboratory.
func TestNumbersAndTextsOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	db := mongotest.Database(t)
	store := mongo.New(db)
	tests := []any{"304", 304.0, "the electrolytes", nil}
	for index, value := range []any{7.9, int32(140), "4.2", nil} {
		_, err := db.Collection("SampleRerunValues").InsertOne(t.Context(), bson.D{{Key: "lab_id", Value: 12}, {Key: "lab_report_id", Value: 7001},
			{Key: "rerun_number", Value: "1"}, {Key: "index", Value: index}, {Key: "sample_id", Value: int64(1)<<53 + 1}, {Key: "value", Value: value},
			{Key: "profileTestId", Value: tests[index]}})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := db.Collection("SampleRerun").InsertOne(t.Context(), bson.D{{Key: "lab_id", Value: 12}, {Key: "lab_report_id", Value: 7001},
		{Key: "type", Value: "manual"}, {Key: "rerun_number", Value: "1"}, {Key: "sample_id", Value: 5}, {Key: "created_by", Value: "77"},
		{Key: "parameter_names", Value: bson.A{"Potassium", 7}}, {Key: "is_active", Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	values, err := store.ValuesOfReports(t.Context(), storetest.Scope(t, 12), []int64{7001})
	got := ""
	for _, v := range values {
		got += fmt.Sprintf("%d:%d of %d %t %s=%q ", v.Number, v.Index, v.TestID, v.TestKnown, v.SampleID, v.Value)
	}
	const want = `1:0 of 304 true 9007199254740993="7.9" 1:1 of 304 true 9007199254740993="140" ` +
		`1:2 of 0 false 9007199254740993="4.2" 1:3 of 0 false 9007199254740993="" `
	if got != want || err != nil {
		t.Errorf("values %s, %v; want %s", got, err, want)
	}
	records, err := store.OfReports(t.Context(), storetest.Scope(t, 12), []int64{7001})
	if err != nil || len(records) != 1 || records[0].Number != 1 || records[0].SampleID != "5" || records[0].CreatedBy != 77 ||
		!records[0].Active || !slices.Equal(records[0].ParameterNames, []string{"Potassium", "7"}) {
		t.Errorf("records %+v, %v; want number 1, sample 5, created by 77, active, Potassium and 7", records, err)
	}
}

// Times of other programs are texts in several formats. An unreadable one must not prevent reading the rest.
func TestTimesOfOtherProgramsAreTexts(t *testing.T) {
	t.Parallel()
	db := mongotest.Database(t)
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	want := map[string]time.Time{
		"2026-11-21T10:00:00Z": at, "2026-11-21T15:30:00+05:30": at, "2026-11-21T10:00:00": at, "2026-11-21 10:00:00": at,
		"2026-11-21": at.Add(-10 * time.Hour), "": {}, "yesterday": {},
	}
	for text := range want {
		_, err := db.Collection("SampleRerunValues").InsertOne(t.Context(), bson.D{{Key: "lab_id", Value: 12},
			{Key: "lab_report_id", Value: 7001}, {Key: "rerun_number", Value: 1}, {Key: "index", Value: len(text)},
			{Key: "value", Value: text}, {Key: "created_at", Value: text}})
		if err != nil {
			t.Fatal(err)
		}
	}
	values, err := mongo.New(db).ValuesOfReports(t.Context(), storetest.Scope(t, 12), []int64{7001})
	if err != nil || len(values) != len(want) {
		t.Fatalf("%d values, %v", len(values), err)
	}
	for _, v := range values {
		if !v.CreatedAt.Equal(want[v.Value]) {
			t.Errorf("%q is read as %v", v.Value, v.CreatedAt)
		}
	}
}

// The query must work with the deadlines of the service's own client, which are sent to the server and not supported
// for every command.
func TestTheLaboratoriesAreFoundByTheServicesOwnClient(t *testing.T) {
	t.Parallel()
	db, err := mongo.Open(mongo.Config{URI: config.Secret(mongotest.URI(t)), Database: mongotest.Database(t).Name()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mongo.Close(t.Context(), db) }()
	store := mongo.New(db)
	for _, want := range [][]int64{nil, {12}} {
		got, err := store.Laboratories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("laboratories %v, want %v", got, want)
		}
		if want == nil {
			if err := store.Write(t.Context(), storetest.Scope(t, 12), rerun.Writes{Record: storetest.Record("12-a", 7001, rerun.Auto, 1, true)}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
