package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Write applies w in the order of its fields. It returns rerun.ErrDuplicate if a unique index rejects a document. The
// preceding changes are then written, and possibly some of the values.
func (s *Store) Write(ctx context.Context, scope authn.LabScope, w rerun.Writes) error {
	if err := s.delete(ctx, scope, s.values, w.DeleteValues); err != nil {
		return err
	}
	if err := s.delete(ctx, scope, s.records, w.DeleteRecords); err != nil {
		return err
	}
	if err := s.setSlots(ctx, scope, w); err != nil {
		return err
	}
	if err := s.insert(ctx, w); err != nil {
		return err
	}
	for _, v := range w.Replace {
		if err := s.replace(ctx, scope, v); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) delete(ctx context.Context, scope authn.LabScope, from *mongo.Collection, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := from.DeleteMany(ctx, many(scope, ids))
	return translate("delete from "+from.Name(), err)
}

func (s *Store) setSlots(ctx context.Context, scope authn.LabScope, w rerun.Writes) error {
	for _, id := range w.Retire {
		fields := bson.D{{Key: "is_active", Value: false}, {Key: "slot", Value: id}, {Key: "auto_slot", Value: id}}
		if err := s.set(ctx, scope, id, fields); err != nil {
			return err
		}
	}
	for _, id := range w.Close {
		if err := s.set(ctx, scope, id, bson.D{{Key: "is_active", Value: false}, {Key: "slot", Value: id}}); err != nil {
			return err
		}
	}
	for _, id := range w.Reopen {
		if err := s.set(ctx, scope, id, bson.D{{Key: "is_active", Value: true}, {Key: "slot", Value: slotOpen}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) insert(ctx context.Context, w rerun.Writes) error {
	if w.Record == nil && len(w.Insert) == 0 {
		return nil
	}
	if err := s.EnsureIndexes(ctx); err != nil {
		return err
	}
	if w.Record != nil {
		if _, err := s.records.InsertOne(ctx, documentOf(*w.Record)); err != nil {
			return translate("insert rerun record", err)
		}
	}
	if len(w.Insert) == 0 {
		return nil
	}
	documents := make([]valueDocument, 0, len(w.Insert))
	for _, v := range w.Insert {
		documents = append(documents, valueDocumentOf(v))
	}
	_, err := s.values.InsertMany(ctx, documents)
	return translate("insert rerun values", err)
}
