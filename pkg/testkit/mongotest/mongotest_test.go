package mongotest_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
)

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	first, second := mongotest.Database(t), mongotest.Database(t)
	if _, err := first.Collection("c").InsertOne(t.Context(), bson.D{{Key: "n", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	for database, want := range map[string]int64{first.Name(): 1, second.Name(): 0} {
		got, err := first.Client().Database(database).Collection("c").CountDocuments(t.Context(), bson.D{})
		if err != nil || got != want {
			t.Fatalf("documents in %s = %d, want %d, error %v", database, got, want, err)
		}
	}
}
