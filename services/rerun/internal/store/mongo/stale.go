package mongo

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// StaleReports returns at most limit reports, with ids above after and in ascending order, that have documents of this
// service older than before.
func (s *Store) StaleReports(
	ctx context.Context, scope authn.LabScope, before time.Time, after int64, limit int,
) ([]int64, error) {
	filter := bson.D{{Key: "lab_id", Value: scope.LabID()}, {Key: "lab_report_id",
		Value: bson.D{{Key: "$gt", Value: after}}},
		{Key: "written_by", Value: ours}, {Key: "created_at", Value: bson.D{{Key: "$lt", Value: before}}}}
	records, err := reportIDs(ctx, s.records, filter, limit)
	if err != nil {
		return nil, translate("find stale records", err)
	}
	values, err := reportIDs(ctx, s.values, filter, limit)
	if err != nil {
		return nil, translate("find stale values", err)
	}
	// Each list has the lowest ids of its collection, so the lowest ids of both together are complete.
	ids := slices.Concat(records, values)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(len(ids), limit)], nil
}

// Laboratories returns the laboratories with documents of this service.
func (s *Store) Laboratories(ctx context.Context) ([]int64, error) {
	var all []int64
	for _, collection := range []*mongo.Collection{s.records, s.values} {
		ids, err := laboratories(ctx, collection)
		if err != nil {
			return nil, translate("find laboratories", err)
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// laboratories uses $group, because FerretDB rejects distinct with the deadline that the driver adds.
func laboratories(ctx context.Context, collection *mongo.Collection) (ids []int64, err error) {
	match := bson.D{{Key: "$match", Value: bson.D{{Key: "written_by", Value: ours}}}}
	group := bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$lab_id"}}}}
	cursor, err := collection.Aggregate(ctx, mongo.Pipeline{match, group})
	if err != nil {
		return nil, err
	}
	var found []struct {
		ID int64 `bson:"_id"`
	}
	err = cursor.All(ctx, &found)
	for _, laboratory := range found {
		ids = append(ids, laboratory.ID)
	}
	return ids, err
}

// reportIDs returns the lowest report ids without duplicates, because a report has several documents.
func reportIDs(ctx context.Context, collection *mongo.Collection, filter bson.D, limit int) ([]int64, error) {
	order := options.Find().SetSort(keys("lab_report_id")).SetProjection(keys("lab_report_id"))
	cursor, err := collection.Find(ctx, filter, order)
	if err != nil {
		return nil, err
	}
	defer func() { _ = cursor.Close(context.WithoutCancel(ctx)) }()
	var ids []int64
	for len(ids) < limit && cursor.Next(ctx) {
		var d struct {
			ReportID int64 `bson:"lab_report_id"`
		}
		if err := cursor.Decode(&d); err != nil {
			return nil, err
		}
		if n := len(ids); n == 0 || ids[n-1] != d.ReportID {
			ids = append(ids, d.ReportID)
		}
	}
	return ids, cursor.Err()
}

// OfReports returns the records of the reports.
func (s *Store) OfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Record, error) {
	return s.findRecords(ctx, ofReports(scope, reportIDs))
}

// ValuesOfReports returns the values of the reports.
func (s *Store) ValuesOfReports(ctx context.Context, scope authn.LabScope, reportIDs []int64) ([]rerun.Value, error) {
	return s.findValues(ctx, ofReports(scope, reportIDs))
}

// ofReports returns the filter for documents of reports. A single report is selected by equality, for which a small
// store needs no scan.
func ofReports(scope authn.LabScope, reportIDs []int64) bson.D {
	var report any = bson.D{{Key: "$in", Value: reportIDs}}
	if len(reportIDs) == 1 {
		report = reportIDs[0]
	}
	return bson.D{{Key: "lab_id", Value: scope.LabID()}, {Key: "lab_report_id", Value: report}}
}
