package seed

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
)

// DefaultSessionAge is the lifetime of a seeded session: 8 hours, the services' default.
const DefaultSessionAge = 28800 * time.Second

// Target holds the addresses of the stores that fixtures are written to.
type Target struct {
	MySQLDSN      string
	RedisAddr     string
	MongoURI      string
	MongoDatabase string
	BlobURL       string           // file:// or s3://, the same URL as in the services' settings
	SessionAge    time.Duration    // 0 means DefaultSessionAge
	Now           func() time.Time // nil means time.Now
}

// Stack returns the stores of the stack that runs in labDir.
func Stack(labDir string) (Target, error) {
	e, err := endpoints.Read(labDir)
	if err != nil {
		return Target{}, err
	}
	return Target{MySQLDSN: e.MySQLDSN, RedisAddr: e.RedisAddr, MongoURI: e.MongoURI,
		MongoDatabase: e.MongoDatabase, BlobURL: e.BlobURL}, nil
}

// OpenMySQL opens the target's database with the session settings for writing fixtures: UTC, strict mode, no foreign
// key checks.
func (t Target) OpenMySQL() (*sql.DB, error) { return openMySQL(t.MySQLDSN) }

// Counts is the number of rows, documents, and so on that Apply wrote.
type Counts struct{ Rows, Documents, Sessions, Keys, Objects int }

// String returns the counts as text, such as "5 rows, 0 documents, …".
func (c Counts) String() string {
	return fmt.Sprintf(
		"%d rows, %d documents, %d sessions, %d Redis keys, %d objects",
		c.Rows,
		c.Documents,
		c.Sessions,
		c.Keys,
		c.Objects,
	)
}

// Apply checks the whole fixture against the target and then writes it. An invalid fixture, e.g. with an unknown table
// or column, changes nothing. Apply is idempotent.
func (t Target) Apply(ctx context.Context, fixture *Fixture) (Counts, error) {
	documents, err := decodeDocuments(fixture.Mongo)
	if err != nil {
		return Counts{}, err
	}
	writeObjects, err := objectWriter(ctx, t.BlobURL, fixture.Objects)
	if err != nil {
		return Counts{}, err
	}
	db, err := openMySQL(t.MySQLDSN)
	if err != nil {
		return Counts{}, err
	}
	defer func() { _ = db.Close() }()
	known, err := validateTables(ctx, db, fixture.MySQL)
	if err != nil {
		return Counts{}, err
	}
	return fixture.counts(), inTx(ctx, db, func(tx *sql.Tx) error {
		// The transaction is filled before the other stores are written, because a value can still be invalid. It commits
		// after them.
		if err := writeTables(ctx, tx, fixture, known); err != nil {
			return err
		}
		if err := t.applyDocuments(ctx, fixture, documents); err != nil {
			return err
		}
		if err := writeObjects(); err != nil {
			return err
		}
		return t.applyRedis(ctx, fixture)
	})
}

// ApplySessions writes only the sessions of the fixture, each with a full lifetime from now.
func (t Target) ApplySessions(ctx context.Context, fixture *Fixture) error {
	return t.applyRedis(ctx, &Fixture{Sessions: fixture.Sessions})
}

func inTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // without effect after Commit
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (t Target) applyDocuments(ctx context.Context, fixture *Fixture, documents map[string][]bson.D) error {
	if len(fixture.Mongo) == 0 {
		return nil
	}
	client, err := mongo.Connect(options.Client().ApplyURI(t.MongoURI))
	if err != nil {
		return fmt.Errorf("document store: %w", err)
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	return writeCollections(ctx, client.Database(t.MongoDatabase), fixture, documents)
}

func (t Target) applyRedis(ctx context.Context, fixture *Fixture) error {
	client := redis.NewClient(&redis.Options{Addr: t.RedisAddr})
	defer func() { _ = client.Close() }()
	now, age := time.Now, t.SessionAge
	if t.Now != nil {
		now = t.Now
	}
	if age == 0 {
		age = DefaultSessionAge
	}
	return writeRedis(ctx, client, fixture, now(), age)
}

func (f *Fixture) counts() Counts {
	c := Counts{Sessions: len(f.Sessions), Keys: len(f.Redis.Hash) + len(f.Redis.String), Objects: len(f.Objects)}
	for _, table := range f.MySQL {
		c.Rows += len(table.Rows)
	}
	for _, collection := range f.Mongo {
		c.Documents += len(collection.Documents)
	}
	return c
}
