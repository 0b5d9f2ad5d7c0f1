package mongo

import (
	"cmp"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

type valueDocument struct {
	ID            documentID `bson:"_id"`
	LabID         int64      `bson:"lab_id"`
	ReportID      int64      `bson:"lab_report_id"`
	SampleID      text       `bson:"sample_id"`
	Value         text       `bson:"value"`
	Order         whole      `bson:"order"`
	Index         whole      `bson:"index"`
	RerunType     text       `bson:"rerun_type"`
	Number        whole      `bson:"rerun_number"`
	ParameterName text       `bson:"parameter_name"`
	TestID        any        `bson:"profileTestId,omitempty"` // nil: test unknown, as in values of other programs
	DeviceID      text       `bson:"device_id"`
	DeviceName    text       `bson:"device_name"`
	CreatedAt     moment     `bson:"created_at"`
	History       []earlier  `bson:"history,omitempty"`
	// WrittenBy has the value of the constant ours in every document of this service. Documents of other programs have
	// none.
	WrittenBy string `bson:"written_by"`
}

// earlier is a previous value that was replaced.
type earlier struct {
	Value      text   `bson:"value"`
	DeviceID   text   `bson:"device_id"`
	DeviceName text   `bson:"device_name"`
	CreatedAt  moment `bson:"created_at"`
}

func valueDocumentOf(v rerun.Value) valueDocument {
	d := valueDocument{
		ID: documentID(v.ID), LabID: v.LabID, ReportID: v.ReportID, SampleID: text(v.SampleID), Value: text(v.Value),
		Order: whole(v.Order), Index: whole(v.Index), RerunType: text(v.RerunType), Number: whole(v.Number),
		ParameterName: text(v.ParameterName), DeviceID: text(v.DeviceID), DeviceName: text(v.DeviceName),
		CreatedAt: moment{v.CreatedAt}, WrittenBy: ours,
	}
	if v.TestKnown {
		d.TestID = &v.TestID // a pointer, because omitempty would leave out the number 0, the report's own test
	}
	for _, e := range v.History {
		d.History = append(d.History, earlier{text(e.Value), text(e.DeviceID), text(e.DeviceName), moment{e.CreatedAt}})
	}
	return d
}

func (d valueDocument) value() rerun.Value {
	v := rerun.Value{
		ID: string(d.ID), LabID: d.LabID, ReportID: d.ReportID, SampleID: string(d.SampleID), Value: string(d.Value),
		Order: int(d.Order), Index: int(d.Index), RerunType: string(d.RerunType), Number: int(d.Number),
		ParameterName: string(d.ParameterName), DeviceID: string(d.DeviceID), DeviceName: string(d.DeviceName),
		CreatedAt: d.CreatedAt.UTC(), Foreign: d.WrittenBy != ours,
	}
	v.TestID, v.TestKnown = testOf(d.TestID)
	for _, e := range d.History {
		v.History = append(v.History, rerun.Earlier{
			Value: string(e.Value), DeviceID: string(e.DeviceID), DeviceName: string(e.DeviceName), CreatedAt: e.CreatedAt.UTC(),
		})
	}
	return v
}

// replace stores a value with its history in the document of the value that it replaces.
func (s *Store) replace(ctx context.Context, scope authn.LabScope, v rerun.Value) error {
	d := valueDocumentOf(v)
	_, err := s.values.UpdateOne(ctx, one(scope, v.ID), bson.D{{Key: "$set", Value: bson.D{
		{Key: "value", Value: d.Value}, {Key: "device_id", Value: d.DeviceID}, {Key: "device_name", Value: d.DeviceName},
		{Key: "sample_id", Value: d.SampleID}, {Key: "rerun_type", Value: d.RerunType},
		{Key: "parameter_name", Value: d.ParameterName}, {Key: "profileTestId", Value: d.TestID},
		{Key: "order", Value: d.Order}, {Key: "created_at", Value: d.CreatedAt}, {Key: "history", Value: d.History},
	}}})
	return translate("replace rerun value", err)
}

func (s *Store) findValues(ctx context.Context, filter bson.D) ([]rerun.Value, error) {
	cursor, err := s.values.Find(ctx, filter)
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

// sortRecords sorts here instead of in the store, because a report has few records.
func sortRecords(records []rerun.Record) {
	slices.SortFunc(records, func(a, b rerun.Record) int { return cmp.Compare(a.Number, b.Number) })
}
