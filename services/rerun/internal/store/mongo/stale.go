package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// StaleRecords returns this service's records of all laboratories that are older than before.
func (s *Store) StaleRecords(ctx context.Context, before time.Time) ([]rerun.Record, error) {
	return s.findRecords(ctx, stale(before))
}

// StaleValues returns this service's values of all laboratories that are older than before.
func (s *Store) StaleValues(ctx context.Context, before time.Time) ([]rerun.Value, error) {
	return s.findValues(ctx, stale(before))
}

func stale(before time.Time) bson.D {
	return bson.D{{Key: "written_by", Value: ours}, {Key: "created_at", Value: bson.D{{Key: "$lt", Value: before}}}}
}
