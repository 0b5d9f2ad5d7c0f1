package mongo

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// valueDocument is a SampleRerunValues document.
type valueDocument struct {
	ID            documentID `bson:"_id"`
	LabID         int64      `bson:"lab_id"`
	ReportID      int64      `bson:"lab_report_id"`
	SampleID      string     `bson:"sample_id"`
	Value         string     `bson:"value"`
	Order         int        `bson:"order"`
	Index         int        `bson:"index"`
	RerunType     string     `bson:"rerun_type"`
	Number        int        `bson:"rerun_number"`
	ParameterName string     `bson:"parameter_name"`
	DeviceID      string     `bson:"device_id"`
	DeviceName    string     `bson:"device_name"`
	CreatedAt     time.Time  `bson:"created_at"`
}

func valueDocumentOf(v rerun.Value) valueDocument {
	return valueDocument{
		ID: documentID(v.ID), LabID: v.LabID, ReportID: v.ReportID, SampleID: v.SampleID, Value: v.Value, Order: v.Order, Index: v.Index,
		RerunType: v.RerunType, Number: v.Number, ParameterName: v.ParameterName, DeviceID: v.DeviceID, DeviceName: v.DeviceName, CreatedAt: v.CreatedAt,
	}
}

func (d valueDocument) value() rerun.Value {
	return rerun.Value{
		ID: string(d.ID), LabID: d.LabID, ReportID: d.ReportID, SampleID: d.SampleID, Value: d.Value, Order: d.Order, Index: d.Index,
		RerunType: d.RerunType, Number: d.Number, ParameterName: d.ParameterName, DeviceID: d.DeviceID, DeviceName: d.DeviceName, CreatedAt: d.CreatedAt.UTC(),
	}
}

// InsertValue adds a value; rerun.ErrDuplicate when its report, number and index are stored already.
func (s *Store) InsertValue(ctx context.Context, v rerun.Value) error {
	if err := s.EnsureIndexes(ctx); err != nil {
		return err
	}
	_, err := s.values.InsertOne(ctx, valueDocumentOf(v))
	return translate("insert rerun value", err)
}

// Values returns the report's values ordered by rerun number, order and index.
func (s *Store) Values(ctx context.Context, scope authn.LabScope, reportID int64) ([]rerun.Value, error) {
	cursor, err := s.values.Find(ctx, bson.D{{Key: "lab_id", Value: scope.LabID()}, {Key: "lab_report_id", Value: reportID}})
	if err != nil {
		return nil, translate("find rerun values", err)
	}
	var documents []valueDocument
	if err := cursor.All(ctx, &documents); err != nil {
		return nil, translate("read rerun values", err)
	}
	values := make([]rerun.Value, 0, len(documents))
	for _, d := range documents {
		values = append(values, d.value())
	}
	slices.SortFunc(values, func(a, b rerun.Value) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Index, b.Index))
	})
	return values, nil
}

// sortRecords orders here instead of in the store: a report has a handful.
func sortRecords(records []rerun.Record) {
	slices.SortFunc(records, func(a, b rerun.Record) int { return cmp.Compare(a.Number, b.Number) })
}
