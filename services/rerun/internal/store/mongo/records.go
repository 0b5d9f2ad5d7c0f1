package mongo

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Values of the slot fields and of written_by.
const (
	slotOpen = "open"
	slotAuto = "auto"
	ours     = "rerun"
)

type recordDocument struct {
	ID             documentID `bson:"_id"`
	LabID          int64      `bson:"lab_id"`
	ReportID       int64      `bson:"lab_report_id"`
	Type           text       `bson:"type"`
	Number         whole      `bson:"rerun_number"`
	Requested      indices    `bson:"requested_parameters"`
	ParameterNames names      `bson:"parameter_names"`
	Active         bool       `bson:"is_active"`
	SampleID       text       `bson:"sample_id"`
	CreatedBy      whole      `bson:"created_by"`
	CreatedByKind  string     `bson:"created_by_kind,omitempty"`
	UpdatedBy      whole      `bson:"updated_by"`
	CreatedAt      moment     `bson:"created_at"`
	UpdatedAt      moment     `bson:"updated_at"`
	Slot           string     `bson:"slot"`
	AutoSlot       string     `bson:"auto_slot"`
	// WrittenBy has the value of the constant ours in every document of this service, even after changes. Other documents
	// have none.
	WrittenBy string `bson:"written_by"`
}

func documentOf(r rerun.Record) recordDocument {
	d := recordDocument{
		ID: documentID(r.ID), LabID: r.LabID, ReportID: r.ReportID, Type: text(r.Type), Number: whole(r.Number),
		Requested:      r.Requested,
		ParameterNames: r.ParameterNames, Active: r.Active, SampleID: text(r.SampleID), CreatedBy: whole(r.CreatedBy),
		CreatedByKind: r.CreatedByKind, UpdatedBy: whole(r.UpdatedBy),
		CreatedAt: moment{r.CreatedAt}, UpdatedAt: moment{r.UpdatedAt}, Slot: r.ID, AutoSlot: r.ID,
		WrittenBy: ours,
	}
	if r.Active {
		d.Slot = slotOpen
	}
	if r.Type == rerun.Auto {
		d.AutoSlot = slotAuto
	}
	return d
}

func (d recordDocument) record() rerun.Record {
	kind, ok := rerun.ParseType(string(d.Type))
	if !ok {
		kind = rerun.Type(d.Type)
	}
	return rerun.Record{
		ID: string(d.ID), LabID: d.LabID, ReportID: d.ReportID, Type: kind, Number: int(d.Number), Requested: d.Requested,
		ParameterNames: d.ParameterNames, Active: d.Active, SampleID: string(d.SampleID), CreatedBy: int64(d.CreatedBy),
		CreatedByKind: d.CreatedByKind, UpdatedBy: int64(d.UpdatedBy),
		CreatedAt: d.CreatedAt.UTC(), UpdatedAt: d.UpdatedAt.UTC(),
		Foreign: d.WrittenBy != ours,
	}
}

func (s *Store) findRecords(ctx context.Context, filter bson.D) ([]rerun.Record, error) {
	cursor, err := s.records.Find(ctx, filter)
	if err != nil {
		return nil, translate("find rerun records", err)
	}
	var documents []recordDocument
	if err := cursor.All(ctx, &documents); err != nil {
		return nil, translate("read rerun records", err)
	}
	records := make([]rerun.Record, 0, len(documents))
	for _, d := range documents {
		records = append(records, d.record())
	}
	sortRecords(records)
	return records, nil
}

func (s *Store) set(ctx context.Context, scope authn.LabScope, id string, fields bson.D) error {
	_, err := s.records.UpdateOne(ctx, one(scope, id), bson.D{{Key: "$set", Value: fields}})
	return translate("update rerun record", err)
}

// one returns the filter for a document by its id. An id that begins with the scope's laboratory needs no other
// condition, and a small store finds a document fastest by its id alone.
func one(scope authn.LabScope, id string) bson.D {
	if strings.HasPrefix(id, rerun.RecordID(scope.LabID(), "")) {
		return bson.D{{Key: "_id", Value: id}}
	}
	return many(scope, []string{id})
}

func many(scope authn.LabScope, ids []string) bson.D {
	all := bson.A{}
	for _, id := range ids {
		all = append(all, storedIDs(id)...)
	}
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: all}}}, {Key: "lab_id", Value: scope.LabID()}}
}
