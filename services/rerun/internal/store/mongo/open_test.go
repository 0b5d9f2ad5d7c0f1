package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
)

func TestWrongAddressesAreRefusedWithTheNameOfTheVariable(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"", "localhost:27017", "http://x/", "mongodb://", "mongodb://%zz/"} {
		cfg := mongo.Config{URI: config.Secret(uri), Database: "lab"}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "MONGO_URI") {
			t.Errorf("%q: %v", uri, err)
		}
	}
	if err := (&mongo.Config{URI: "mongodb://h/"}).Validate(); err == nil || !strings.Contains(err.Error(), "MONGO_DATABASE") {
		t.Errorf("no database: %v", err)
	}
}

func TestDefaultsAreUsable(t *testing.T) {
	t.Parallel()
	var cfg mongo.Config
	if err := config.Load("RERUN_MONGO_", &cfg, nil); err != nil || cfg.Database != "lab" {
		t.Fatalf("got %+v %v, want lab", cfg, err)
	}
}

func TestOpenDoesNotNeedTheStoreAndPingReportsIt(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := mongo.Open(mongo.Config{URI: config.Secret("mongodb://" + address + "/"), Database: "lab"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mongo.Close(context.WithoutCancel(t.Context()), db) }()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := mongo.Ping(ctx, db); err == nil || !mongo.IsUnavailable(err) {
		t.Fatalf("ping: %v", err)
	}
	if mongo.IsUnavailable(errors.New("other")) {
		t.Fatal("any error looks like an absent store")
	}
}

func TestDuplicatesAreRecognised(t *testing.T) {
	t.Parallel()
	uri := mongotest.URI(t)
	name := mongotest.Database(t).Name()
	db, err := mongo.Open(mongo.Config{URI: config.Secret(uri), Database: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mongo.Close(context.WithoutCancel(t.Context()), db) }()
	if err := mongo.Ping(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	c := db.Collection("things")
	if _, err := c.Indexes().CreateOne(t.Context(), driver.IndexModel{Keys: bson.D{{Key: "k", Value: 1}}, Options: options.Index().SetUnique(true)}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		_, err := c.InsertOne(t.Context(), bson.D{{Key: "_id", Value: fmt.Sprint(i)}, {Key: "k", Value: 1}})
		if mongo.IsDuplicate(err) != (i == 1) {
			t.Fatalf("insert %d: %v", i, err)
		}
		if mongo.IsUnavailable(err) {
			t.Fatalf("a duplicate looks like an absent store: %v", err)
		}
	}
}
