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
	ID            string    `bson:"_id"`
	LabID         int64     `bson:"lab_id"`
	ReportID      int64     `bson:"lab_report_id"`
	SampleID      string    `bson:"sample_id"`
	Value         string    `bson:"value"`
	Order         int       `bson:"order"`
	Index         int       `bson:"index"`
	RerunType     string    `bson:"rerun_type"`
	Number        int       `bson:"rerun_number"`
	ParameterName string    `bson:"parameter_name"`
	DeviceID      string    `bson:"device_id"`
	DeviceName    string    `bson:"device_name"`
	CreatedAt     time.Time `bson:"created_at"`
}

// InsertValue adds a value; rerun.ErrDuplicate when its report, number and index are stored already.
func (s *Store) InsertValue(ctx context.Context, v rerun.Value) error {
	if err := s.EnsureIndexes(ctx); err != nil {
		return err
	}
	_, err := s.values.InsertOne(ctx, valueDocument(v))
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
		d.CreatedAt = d.CreatedAt.UTC()
		values = append(values, rerun.Value(d))
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
