package mongo_test

import (
	"sync"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/mongodb"
	"github.com/labplatform/labplatform/pkg/testkit/mongotest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/mongo"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

func TestTheDocumentStoreConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Documents { return mongo.New(mongotest.Database(t)) })
}

func TestIndexesMayBeMadeAgainByTheNextProcess(t *testing.T) {
	t.Parallel()
	db := mongotest.Database(t)
	for range 3 {
		if err := mongo.New(db).Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIndexesMayBeMadeByManyAtOnce(t *testing.T) {
	t.Parallel()
	db := mongotest.Database(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			// A small store may drop connections when collections are made at once; the probe asks again.
			await(t, func() error { return mongo.New(db).Ready(t.Context()) })
		})
	}
	wait.Wait()
}

func TestAStoreThatIsAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	db, err := mongodb.Open(mongodb.Config{
		URI: config.Secret("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100"), Database: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mongo.New(db).OfReport(t.Context(), storetest.Scope(t, 12), 1); apperr.KindOf(err) != apperr.Unavailable {
		t.Fatalf("error = %v", err)
	}
}

func await(t *testing.T, check func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Error(err)
			return
		}
	}
}
