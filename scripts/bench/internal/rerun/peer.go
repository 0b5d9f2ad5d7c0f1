package rerun

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
)

// storeAlone inserts 30 documents for each report of a round, over as many connections and with the unique index of the
// values, and returns these inserts per second: the rate of the store without reads and decisions.
func (l *laboratory) storeAlone(ctx context.Context) (float64, error) {
	values := l.docs.Collection("BenchValues")
	index := mongo.IndexModel{
		Keys: bson.D{
			{Key: "lab_id", Value: 1},
			{Key: "lab_report_id", Value: 1},
			{Key: "rerun_number", Value: 1},
			{Key: "index", Value: 1},
		},
		Options: options.Index().SetName("uq_lab_value").SetUnique(true),
	}
	if _, err := values.Indexes().CreateOne(ctx, index); err != nil {
		return 0, err
	}
	start := time.Now()
	err := load.Each(l.reports, connections, func(i int) error {
		_, err := values.InsertMany(ctx, documents(i))
		return err
	})
	elapsed := time.Since(start)
	if err != nil {
		return 0, err
	}
	stored, err := values.CountDocuments(ctx, bson.D{})
	if err == nil && int(stored) != l.reports*parameters {
		err = fmt.Errorf("the store alone has %d of %d documents", stored, l.reports*parameters)
	}
	if err != nil {
		return 0, err
	}
	_, err = values.DeleteMany(ctx, bson.D{})
	return float64(l.reports) / elapsed.Seconds(), err
}

// documents returns the values of a report with the fields that the service stores.
func documents(report int) []any {
	list := make([]any, parameters)
	for i := range list {
		list[i] = bson.D{
			{Key: "_id", Value: fmt.Sprintf("%d-%d-%d", labID, report, i)}, {Key: "lab_id", Value: int64(labID)},
			{Key: "lab_report_id", Value: int64(report)}, {Key: "sample_id", Value: sampleID},
			{Key: "value", Value: fmt.Sprint(i)}, {Key: "order", Value: i}, {Key: "index", Value: i},
			{Key: "rerun_type", Value: "manual_rerun"}, {Key: "rerun_number", Value: 1},
			{Key: "parameter_name", Value: fmt.Sprint("Parameter ", i)}, {Key: "device_id", Value: "XN-1000"},
			{Key: "device_name", Value: "Sysmex XN-1000"}, {Key: "created_at", Value: time.Now()},
			{Key: "written_by", Value: "rerun"},
		}
	}
	return list
}
