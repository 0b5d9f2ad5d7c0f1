// Package mongotest gives each test its own database on the document store at LAB_TEST_MONGO_URI and drops it at the
// end.
package mongotest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/labplatform/labplatform/pkg/testkit/engine"
)

// Env is the variable with the URI of the document store, such as mongodb://127.0.0.1:27018/.
const Env = "LAB_TEST_MONGO_URI"

const setupTimeout = 30 * time.Second

// Database returns a new, empty database with its own client. Both are removed when t ends.
func Database(t testing.TB) *mongo.Database {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(URI(t)))
	if err != nil {
		t.Fatalf("%s: %v", Env, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	if err := client.Ping(ctx, nil); err != nil {
		t.Fatalf("no response from %s: %v", Env, err)
	}
	database := client.Database("labtest_" + randomHex())
	t.Cleanup(func() { dropDatabase(t, database) })
	return database
}

// URI returns the address of the document store, for code that opens its own client. Use Database(t).Name() as the name
// of the database.
func URI(t testing.TB) string {
	t.Helper()
	uri := engine.Setting(Env)
	if uri == "" {
		engine.Missing(t, "no document store: set "+Env+", or run the tests with `devstack engines -- go test …`")
	}
	return uri
}

func dropDatabase(t testing.TB, database *mongo.Database) {
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	if err := database.Drop(ctx); err != nil {
		t.Logf("drop database %s: %v", database.Name(), err)
	}
	_ = database.Client().Disconnect(ctx)
}

func randomHex() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}
