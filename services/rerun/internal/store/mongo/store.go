package mongo

import (
	"context"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/rerun/internal/rerun"
)

// Collections of this service.
const (
	recordsCollection = "SampleRerun"
	valuesCollection  = "SampleRerunValues"
)

// Store reads and writes documents of reruns. Its methods may be called from several goroutines.
type Store struct {
	db      *mongo.Database
	records *mongo.Collection
	values  *mongo.Collection

	mu      sync.Mutex
	indexed bool // guarded by mu; the unique indexes exist
}

// New returns a store over db, which the caller closes. It does not connect.
func New(db *mongo.Database) *Store {
	return &Store{db: db, records: db.Collection(recordsCollection), values: db.Collection(valuesCollection)}
}

// Ready checks that the store responds and has its indexes. It creates missing indexes.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.EnsureIndexes(ctx); err != nil {
		return err
	}
	return Ping(ctx, s.db)
}

// EnsureIndexes creates the indexes, once per process. Documents are inserted only after it succeeded.
func (s *Store) EnsureIndexes(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexed {
		return nil
	}
	for _, index := range []struct {
		collection *mongo.Collection
		model      mongo.IndexModel
	}{
		{s.records, unique("uq_slot", "lab_report_id", "slot")},
		{s.records, unique("uq_auto_slot", "lab_report_id", "auto_slot")},
		{s.records, unique("uq_number", "lab_report_id", "rerun_number")},
		{s.records, plain("ix_sweep", "lab_id", "lab_report_id")},
		// A report belongs to one laboratory, so one index serves as the unique key, for lists and for the sweeper. Every
		// index makes the insert of a value slower.
		{s.values, unique("uq_lab_value", "lab_id", "lab_report_id", "rerun_number", "index")},
	} {
		// FerretDB panics if only some indexes of a list exist, so they are created one by one.
		if _, err := index.collection.Indexes().CreateOne(ctx, index.model); err != nil {
			return translate("create index of "+index.collection.Name(), err)
		}
	}
	s.indexed = true
	return nil
}

func unique(name string, fields ...string) mongo.IndexModel {
	return mongo.IndexModel{Keys: keys(fields...), Options: options.Index().SetName(name).SetUnique(true)}
}

func plain(name string, fields ...string) mongo.IndexModel {
	return mongo.IndexModel{Keys: keys(fields...), Options: options.Index().SetName(name)}
}

func keys(fields ...string) bson.D {
	var d bson.D
	for _, f := range fields {
		d = append(d, bson.E{Key: f, Value: 1})
	}
	return d
}

// translate converts errors of the driver to those of the domain.
func translate(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case IsDuplicate(err):
		return rerun.ErrDuplicate.WithCause(err)
	case IsUnavailable(err):
		return apperr.New(apperr.Unavailable, "DOCUMENT_STORE_DOWN", "The document store does not answer; try again").
			WithCause(fmt.Errorf("%s: %w", operation, err))
	default:
		return fmt.Errorf("%s: %w", operation, err)
	}
}
